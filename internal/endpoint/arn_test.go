package endpoint_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

func TestQueueARN_GivesQueueURLInEveryPartition(t *testing.T) {
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
		arn, err := endpoint.ParseARN(c.arn)
		if err != nil {
			t.Fatal(err)
		}
		got, err := endpoint.QueueURL(t.Context(), sqs.New(c.o), arn)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.arn, got, err, c.want)
		}
	}
}

func TestParseARNRefusesWhatIsNone(t *testing.T) {
	for _, s := range []string{"", "orders", "arn:aws:sns:eu-west-1:1:t", "arn:aws:sqs:eu-west-1:1:", "arn:aws:sqs::1:q", "arn:aws:sqs:eu-west-1:1:q:more"} {
		if _, err := endpoint.ParseARN(s); err == nil {
			t.Errorf("%q is taken for an ARN", s)
		}
	}
}
