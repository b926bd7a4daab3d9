package settle

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestQueueByURLIsCalledInItsRegion(t *testing.T) {
	client := sqs.New(sqs.Options{Region: "eu-west-1"})
	s := New(Config{Client: func(context.Context) (*sqs.Client, error) { return client, nil }})
	for url, want := range map[string]string{
		"https://sqs.us-east-1.amazonaws.com/123456789012/dead":   "us-east-1",
		"https://us-east-1.queue.amazonaws.com/123456789012/dead": "us-east-1",
		"https://queue.example.com/123456789012/dead":             "eu-west-1",
		"http://127.0.0.1:9324/123456789012/dead/":                "eu-west-1",
		"arn:aws:sqs:us-east-2:123456789012:dead":                 "us-east-2",
	} {
		q, err := s.queueAt(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		o := client.Options()
		q.options(&o)
		if o.Region != want || strings.HasSuffix(q.url, "/") {
			t.Errorf("%s is called at %s in %s, want %s", url, q.url, o.Region, want)
		}
	}
}

func TestSameQueue(t *testing.T) {
	const arn = "arn:aws:sqs:eu-west-1:123456789012:orders"
	for name, want := range map[string]bool{
		arn: true, "https://sqs.eu-west-1.amazonaws.com/123456789012/orders": true, "https://eu-west-1.queue.amazonaws.com/123456789012/orders": true,
		"http://127.0.0.1:9324/123456789012/orders":               true,
		"https://sqs.us-east-1.amazonaws.com/123456789012/orders": false, "https://sqs.eu-west-1.amazonaws.com/210987654321/orders": false,
		"https://sqs.eu-west-1.amazonaws.com/123456789012/orders-dead": false, "arn:aws:sqs:eu-west-1:123456789012:orders-dead": false, "": false,
	} {
		if got := sameQueue(name, arn); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
