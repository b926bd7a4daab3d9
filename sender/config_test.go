package sender_test

import (
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/sender"
)

func TestNew_NamesTheFieldThatIsWrong(t *testing.T) {
	client := awssqs.New(awssqs.Options{Region: "eu-west-1"})
	for want, cfg := range map[string]sender.Config{
		"Queue is empty":              {},
		"Queue: \"arn:aws:s3:::b\"":   {Queue: "arn:aws:s3:::b"},
		"Queue is \"https://host/x\"": {Queue: "https://host/x"},
		"Queue is \"or ders\"":        {Queue: "or ders"},
		"Queue is \"orders.fifo.x\"":  {Queue: "orders.fifo.x"},
		"Queue: parse":                {Queue: "https://\x7f/1/orders"},
		"Linger is 2m0s":              {Queue: "orders", Linger: 2 * time.Minute},
		"Linger is -1ns":              {Queue: "orders", Linger: -1},
		"Concurrency is 1001":         {Queue: "orders", Concurrency: 1001},
		"MaxBuffered is -1":           {Queue: "orders", MaxBuffered: -1},
		"MaxBufferedBytes is 1000":    {Queue: "orders", MaxBufferedBytes: 1000},
		"CallTimeout is 1h0m0s":       {Queue: "orders", CallTimeout: time.Hour},
		"ContentBasedDeduplication":   {Queue: "orders", ContentBasedDeduplication: true},
	} {
		if s, err := sender.New(client, cfg); err == nil || s != nil || !strings.Contains(err.Error(), "sender: "+want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
	_, err := sender.New(nil, sender.Config{Linger: -1})
	for _, want := range []string{"the client is nil", "Queue is empty", "Linger"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q too", err, want)
		}
	}
	for _, queue := range []string{"orders", "orders.fifo", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders/", "arn:aws:sqs:eu-west-1:123456789012:orders.fifo"} {
		if _, err := sender.New(client, sender.Config{Queue: queue}); err != nil {
			t.Errorf("%s: %v", queue, err)
		}
	}
}
