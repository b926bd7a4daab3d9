package endpoint_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// The endpoints are those of "Amazon Simple Queue Service endpoints and quotas"
// in the AWS General Reference, the names of interface endpoints those of
// "Access an AWS service using an interface VPC endpoint" in the guide to AWS
// PrivateLink, LocalStack's those of its page on SQS (SQS_ENDPOINT_STRATEGY).
func TestOf(t *testing.T) {
	for url, want := range map[string][2]string{
		// AWS's, which a client of the region calls by itself
		"https://sqs.eu-west-1.amazonaws.com/123456789012/orders":        {"eu-west-1", ""},
		"http://sqs.eu-west-1.amazonaws.com/123456789012/orders":         {"eu-west-1", ""},
		"https://sqs.eu-west-1.amazonaws.com:443/123456789012/orders":    {"eu-west-1", ""},
		"https://SQS.eu-west-1.AmazonAWS.com/123456789012/orders":        {"eu-west-1", ""},
		"https://sqs.us-gov-west-1.amazonaws.com/123456789012/orders":    {"us-gov-west-1", ""},
		"https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders":    {"cn-north-1", ""},
		"https://sqs.eusc-de-east-1.amazonaws.eu/123456789012/orders":    {"eusc-de-east-1", ""},
		"https://sqs.us-iso-east-1.c2s.ic.gov/123456789012/orders":       {"us-iso-east-1", ""},
		"https://sqs.us-isob-east-1.sc2s.sgov.gov/123456789012/orders":   {"us-isob-east-1", ""},
		"https://sqs.eu-isoe-west-1.cloud.adc-e.uk/123456789012/orders":  {"eu-isoe-west-1", ""},
		"https://sqs.us-isof-south-1.csp.hci.ic.gov/123456789012/orders": {"us-isof-south-1", ""},
		"https://queue.amazonaws.com/123456789012/orders":                {"us-east-1", ""},
		"https://eu-west-1.queue.amazonaws.com/123456789012/orders":      {"eu-west-1", ""},
		"https://cn-north-1.queue.amazonaws.com.cn/123456789012/orders":  {"cn-north-1", ""},
		"https://us-gov-west-1.queue.amazonaws.com/123456789012/orders":  {"us-gov-west-1", ""},

		// AWS's, which only the URL asks for
		"https://sqs-fips.us-east-2.amazonaws.com/123456789012/orders": {"us-east-2", "https://sqs-fips.us-east-2.amazonaws.com"},
		"https://sqs-fips.us-east-2.api.aws/123456789012/orders":       {"us-east-2", "https://sqs-fips.us-east-2.api.aws"},
		"https://sqs.eu-west-1.api.aws/123456789012/orders":            {"eu-west-1", "https://sqs.eu-west-1.api.aws"},
		"https://sqs.us-gov-west-1.api.aws/123456789012/orders":        {"us-gov-west-1", "https://sqs.us-gov-west-1.api.aws"},
		"https://sqs.cn-north-1.api.amazonwebservices.com.cn/1/orders": {"cn-north-1", "https://sqs.cn-north-1.api.amazonwebservices.com.cn"},
		"https://sqs.eusc-de-east-1.api.amazonwebservices.eu/1/orders": {"eusc-de-east-1", "https://sqs.eusc-de-east-1.api.amazonwebservices.eu"},
		"https://vpce-0a-1b2c.sqs.eu-west-1.vpce.amazonaws.com/123456789012/name": {
			"eu-west-1", "https://vpce-0a-1b2c.sqs.eu-west-1.vpce.amazonaws.com"},
		"https://vpce-0a-1b2c-eu-west-1a.sqs.eu-west-1.vpce.amazonaws.com/123456789012/name": {
			"eu-west-1", "https://vpce-0a-1b2c-eu-west-1a.sqs.eu-west-1.vpce.amazonaws.com"},
		"https://vpce-0a-1b2c.sqs-fips.us-east-1.vpce.amazonaws.com/123456789012/name": {
			"us-east-1", "https://vpce-0a-1b2c.sqs-fips.us-east-1.vpce.amazonaws.com"},
		"https://vpce-0a-1b2c.sqs.cn-north-1.vpce.amazonaws.com.cn/123456789012/name": {
			"cn-north-1", "https://vpce-0a-1b2c.sqs.cn-north-1.vpce.amazonaws.com.cn"},

		// the user's own
		"http://127.0.0.1:9324/000000000000/orders":                                 {"", "http://127.0.0.1:9324"},
		"http://[::1]:9324/000000000000/orders":                                     {"", "http://[::1]:9324"},
		"http://localhost:4566/000000000000/orders":                                 {"", "http://localhost:4566"},
		"http://localhost:4566/queue/eu-west-1/000000000000/orders":                 {"", "http://localhost:4566"},
		"http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/orders":  {"us-east-1", "http://sqs.us-east-1.localhost.localstack.cloud:4566"},
		"http://eu-west-1.queue.localhost.localstack.cloud:4566/000000000000/a":     {"eu-west-1", "http://eu-west-1.queue.localhost.localstack.cloud:4566"},
		"http://localhost.localstack.cloud:4566/000000000000/orders":                {"", "http://localhost.localstack.cloud:4566"},
		"http://sqs.elasticmq.svc.cluster.local:9324/000000000000/orders":           {"", "http://sqs.elasticmq.svc.cluster.local:9324"},
		"http://elasticmq.queue.svc.cluster.local:9324/000000000000/orders":         {"", "http://elasticmq.queue.svc.cluster.local:9324"},
		"http://sqs:9324/000000000000/orders":                                       {"", "http://sqs:9324"},
		"https://sqs.eu-west-1.amazonaws.com.example.org/123456789012/orders":       {"", "https://sqs.eu-west-1.amazonaws.com.example.org"},
		"https://notsqs.eu-west-1.amazonaws.com/123456789012/orders":                {"", "https://notsqs.eu-west-1.amazonaws.com"},
		"https://sqs.eu-west-1.notamazonaws.com/123456789012/orders":                {"", "https://sqs.eu-west-1.notamazonaws.com"},
		"https://a1b2c3.execute-api.eu-west-1.amazonaws.com/prod/123456789012/name": {"", "https://a1b2c3.execute-api.eu-west-1.amazonaws.com"},

		"orders":      {"", ""},
		"orders.fifo": {"", ""},
		"%":           {"", ""},
	} {
		region, base := endpoint.Of(url)
		if got := [2]string{region, base}; got != want {
			t.Errorf("Of(%q) = %q, want %q", url, got, want)
		}
	}
}

// A configured dead-letter queue is named by its URL too.
func TestRegion(t *testing.T) {
	for host, want := range map[string]string{
		"sqs.eu-west-1.amazonaws.com": "eu-west-1", "sqs.eu-west-1.api.aws": "eu-west-1", "queue.amazonaws.com": "us-east-1",
		"vpce-0a-1b2c.sqs.eu-west-1.vpce.amazonaws.com": "eu-west-1",
		"sqs.us-east-1.localhost.localstack.cloud":      "", "sqs.elasticmq.svc.cluster.local": "", "127.0.0.1": "", "": "",
	} {
		if got := endpoint.Region(host); got != want {
			t.Errorf("Region(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestPartitionOf(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "aws", "us-east-1": "aws", "": "aws", "elasticmq": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov",
		"us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f",
		"eusc-de-east-1": "aws-eusc",
	} {
		if got := endpoint.PartitionOf(region); got != want {
			t.Errorf("PartitionOf(%q) = %q, want %q", region, got, want)
		}
	}
}

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
		if got, err := endpoint.QueueURL(t.Context(), sqs.New(c.o), arn); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.arn, got, err, c.want)
		}
	}
}

func TestParseARN_RefusesOtherTexts(t *testing.T) {
	for _, s := range []string{"", "orders", "arn:aws:sns:eu-west-1:1:t", "arn:aws:sqs:eu-west-1:1:", "arn:aws:sqs::1:q", "arn:aws:sqs:eu-west-1:1:q:more",
		// The region becomes a part of a host, account and name of a path.
		"arn:aws:sqs:example.org/:1:q", "arn:aws:sqs:example.org#:1:q", "arn:aws:sqs:a.b:1:q", "arn:aws:sqs:a@b:1:q", "arn:aws:sqs:\x1b[2J:1:q", "arn:aws:sqs:é:1:q",
		"arn:aws:sqs:eu-west-1:../1:q", "arn:aws:sqs:eu-west-1:1:../q", "arn:aws:sqs:eu-west-1:1:q?x", "arn:aws:sqs:eu-west-1:1:q ", "arn:\n:sqs:eu-west-1:1:q"} {
		if _, err := endpoint.ParseARN(s); err == nil {
			t.Errorf("%q is taken for an ARN", s)
		}
	}
}
