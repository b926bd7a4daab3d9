package partialfailure

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestLesson29QueueURLInEveryPartition(t *testing.T) {
	for _, c := range []struct {
		arn  string
		o    sqs.Options
		want string
	}{
		{"arn:aws:sqs:eu-west-1:123456789012:orders", sqs.Options{Region: "eu-west-1"}, "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"},
		{"arn:aws:sqs:eu-west-1:123456789012:orders.fifo", sqs.Options{Region: "us-east-1"}, "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo"},
		{"arn:aws-cn:sqs:cn-north-1:123456789012:orders", sqs.Options{Region: "cn-north-1"}, "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders"},
		{"arn:aws-us-gov:sqs:us-gov-west-1:123456789012:orders", sqs.Options{Region: "us-gov-west-1"}, "https://sqs.us-gov-west-1.amazonaws.com/123456789012/orders"},
		{"arn:aws:sqs:us-east-1:123456789012:orders", sqs.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:9324/")}, "http://127.0.0.1:9324/123456789012/orders"},
		{"arn:aws:sqs:us-east-2:123456789012:orders", sqs.Options{Region: "us-east-2", EndpointOptions: sqs.EndpointResolverOptions{UseFIPSEndpoint: aws.FIPSEndpointStateEnabled}}, "https://sqs-fips.us-east-2.amazonaws.com/123456789012/orders"},
		{"arn:aws:sqs:eu-west-1:123456789012:orders", sqs.Options{Region: "eu-west-1", EndpointOptions: sqs.EndpointResolverOptions{UseDualStackEndpoint: aws.DualStackEndpointStateEnabled}}, "https://sqs.eu-west-1.api.aws/123456789012/orders"},
	} {
		arn, err := parseARN(c.arn)
		if err != nil {
			t.Fatal(err)
		}
		got, err := queueURL(t.Context(), sqs.New(c.o), arn)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.arn, got, err, c.want)
		}
	}
}

func TestParseARNRefusesWhatIsNone(t *testing.T) {
	for _, s := range []string{"", "orders", "arn:aws:sns:eu-west-1:1:t", "arn:aws:sqs:eu-west-1:1:", "arn:aws:sqs::1:q", "arn:aws:sqs:eu-west-1:1:q:more"} {
		if _, err := parseARN(s); err == nil {
			t.Errorf("%q is taken for an ARN", s)
		}
	}
}

func TestQueueByURLIsCalledInItsRegion(t *testing.T) {
	client := sqs.New(sqs.Options{Region: "eu-west-1"})
	s, err := New(Config{Client: func(context.Context) (*sqs.Client, error) { return client, nil }})
	if err != nil {
		t.Fatal(err)
	}
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
		for _, option := range q.options {
			option(&o)
		}
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
