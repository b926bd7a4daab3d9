package handler

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// called is where a client makes its calls, and the region that they are signed for.
func called(t *testing.T, client *sqs.Client) (url, region string) {
	t.Helper()
	o := client.Options()
	e, err := o.EndpointResolverV2.ResolveEndpoint(t.Context(), sqs.EndpointParameters{
		Region: &o.Region, Endpoint: o.BaseEndpoint,
		UseFIPS:      aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.URI.String(), o.Region
}

func TestAQueueIsCalledWhereItsURLSays(t *testing.T) {
	const vpce = "https://vpce-0a-1b2c.sqs.eu-west-1.vpce.amazonaws.com"
	for _, c := range []struct{ env, queue, url, region string }{
		{"", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", "https://sqs.eu-west-1.amazonaws.com", "eu-west-1"},
		{"AWS_REGION=us-east-2", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", "https://sqs.eu-west-1.amazonaws.com", "eu-west-1"},
		{"AWS_USE_FIPS_ENDPOINT=true", "https://sqs.us-east-2.amazonaws.com/123456789012/orders", "https://sqs-fips.us-east-2.amazonaws.com", "us-east-2"},
		{"", "https://sqs-fips.us-east-2.amazonaws.com/123456789012/orders", "https://sqs-fips.us-east-2.amazonaws.com", "us-east-2"},
		{"AWS_USE_FIPS_ENDPOINT=true", "https://sqs-fips.us-east-2.amazonaws.com/1/orders", "https://sqs-fips.us-east-2.amazonaws.com", "us-east-2"},
		{"AWS_USE_DUALSTACK_ENDPOINT=true", vpce + "/123456789012/orders", vpce, "eu-west-1"},
		{"", vpce + "/123456789012/orders", vpce, "eu-west-1"},
		{"AWS_REGION=us-east-2", vpce + "/123456789012/orders", vpce, "eu-west-1"},
		{"", "http://sqs.elasticmq.svc.cluster.local:9324/000000000000/orders", "http://sqs.elasticmq.svc.cluster.local:9324", "us-east-1"},
		{"AWS_REGION=us-east-2", "http://127.0.0.1:9324/000000000000/orders", "http://127.0.0.1:9324", "us-east-2"},
		{"AWS_ENDPOINT_URL_SQS=http://127.0.0.1:9324", "https://sqs.eu-west-1.amazonaws.com/1/orders", "http://127.0.0.1:9324", "eu-west-1"},
		{"", "arn:aws:sqs:eu-west-1:123456789012:orders", "https://sqs.eu-west-1.amazonaws.com", "eu-west-1"},
		{"AWS_REGION=us-east-2", "arn:aws-cn:sqs:cn-north-1:123456789012:orders", "https://sqs.cn-north-1.amazonaws.com.cn", "cn-north-1"},
		{"AWS_REGION=us-east-2", "orders", "https://sqs.us-east-2.amazonaws.com", "us-east-2"},
	} {
		t.Run(c.env+" "+c.queue, func(t *testing.T) {
			bare(t)
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			client, err := (&Config{}).pollClient(t.Context(), c.queue)
			if err != nil {
				t.Fatal(err)
			}
			if url, region := called(t, client); url != c.url || region != c.region {
				t.Errorf("called at %s, signed for %s; want %s, %s", url, region, c.url, c.region)
			}
		})
	}
}

func TestAQueuesNameNeedsARegion(t *testing.T) {
	bare(t)
	if _, err := (&Config{}).pollClient(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Errorf("error %v", err)
	}
}

// An instance's metadata service that refuses tokens has the SDK write a warning.
func TestWhatTheSDKLogs_IsInTheLog(t *testing.T) {
	bare(t)
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer metadata.Close()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_EC2_METADATA_DISABLED": "false",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
	var text strings.Builder
	c := &Config{Logger: slog.New(slog.NewJSONHandler(&text, nil))}
	client, err := c.pollClient(t.Context(), metadata.URL+"/1/orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err == nil {
		t.Error("a call without credentials succeeded")
	}
	if got := text.String(); !strings.Contains(got, `"level":"WARN","msg":"falling back to IMDSv1`) || !strings.Contains(got, `"logger":"aws-sdk-go-v2"`) {
		t.Errorf("log: %s", got)
	}
}

// bare takes away what the machine says of AWS.
func bare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_PROFILE",
		"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
}
