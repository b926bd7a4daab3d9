package queue_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// served serves the queues dead and orders. The configuration of the person who runs the test
// is not used, and there are no credentials.
func served(t *testing.T) *sqs.Server {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	golden.OK(t, err)
	t.Cleanup(func() { _ = server.Close() })
	for _, name := range []string{"dead", "orders"} {
		_, err := server.Client().CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
		golden.OK(t, err)
	}
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // for the end of the test
			golden.OK(t, os.Unsetenv(name))
		}
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	return server
}

// opened connects for a queue, and opens it.
func opened(t *testing.T, s queue.Settings, name string) (*queue.Account, *queue.Queue) {
	t.Helper()
	account, err := queue.Connect(t.Context(), s, name)
	golden.OK(t, err)
	q, err := account.Open(t.Context(), name, 0)
	golden.OK(t, err)
	return account, q
}

// The configured endpoint is called, whatever the host of the queue's URL is, as by other
// programs with AWS's SDKs. Without one, that host is called.
func TestOpen_CallsTheConfiguredEndpoint(t *testing.T) {
	server := served(t)
	other := golden.Uncalled(t)
	_, port, _ := net.SplitHostPort(other)
	const path = "/000000000000/dead"
	queues := map[string]string{
		"name": "dead", "ARN": server.QueueARN("dead"), "its URL": server.QueueURL("dead"),
		"URL of AWS": "https://sqs.us-east-1.amazonaws.com" + path, "URL of a VPC endpoint": "https://vpce-0a-1b2c.sqs.us-east-1.vpce.amazonaws.com" + path,
		"URL of LocalStack": "http://sqs.us-east-1.localhost.localstack.cloud:" + port + path,
		"URL of localhost":  "http://localhost:" + port + path, "URL of another server": "http://" + other + path,
	}
	profile := func(text string) map[string]string {
		return map[string]string{"AWS_CONFIG_FILE": golden.File(t, "config", strings.ReplaceAll(text, "URL", server.URL()))}
	}
	const ignored = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
	elsewhere := map[string]string{"AWS_ENDPOINT_URL": "http://" + other, "AWS_ENDPOINT_URL_SQS": "http://" + other, ignored: "true"}
	flag := queue.Settings{Endpoint: server.URL()}
	try := func(t *testing.T, name string, s queue.Settings, environment map[string]string) {
		t.Helper()
		for name, value := range environment {
			t.Setenv(name, value)
		}
		if _, q := opened(t, s, name); q.ARN != server.QueueARN("dead") {
			t.Errorf("%s was opened", q.ARN)
		}
	}
	for way, c := range map[string]struct {
		settings    queue.Settings
		environment map[string]string
	}{
		"AWS_ENDPOINT_URL":     {environment: map[string]string{"AWS_ENDPOINT_URL": server.URL()}},
		"AWS_ENDPOINT_URL_SQS": {environment: map[string]string{"AWS_ENDPOINT_URL_SQS": server.URL(), "AWS_ENDPOINT_URL": "http://" + other}},
		"profile":              {environment: profile("[default]\nendpoint_url = URL\n")},
		"services section":     {environment: profile("[default]\nservices = local\nregion = us-east-1\n[services local]\nsqs =\n  endpoint_url = URL\n")},
		"flag":                 {flag, map[string]string{"AWS_ENDPOINT_URL_SQS": "http://" + other}},
		"flag, others ignored": {flag, elsewhere},
	} {
		for form, name := range queues {
			t.Run(form+", "+way, func(t *testing.T) { try(t, name, c.settings, c.environment) })
		}
	}
	t.Run("its URL alone", func(t *testing.T) { try(t, server.QueueURL("dead"), queue.Settings{}, nil) })
	t.Run("its URL, the variables are ignored", func(t *testing.T) { try(t, server.QueueURL("dead"), queue.Settings{}, elsewhere) })
}

// Queues that go with the user's are called where that is, unless they are at an endpoint of
// AWS for another region.
func TestOpen_CallsTheServerOfTheUsersQueue(t *testing.T) {
	server := served(t)
	account, dead := opened(t, queue.Settings{}, server.QueueURL("dead"))
	for _, name := range []string{"orders", server.QueueURL("orders"), server.QueueARN("orders"), "arn:aws:sqs:eu-west-1:000000000000:orders"} {
		if q, err := account.Open(t.Context(), name, 0); err != nil || q.ARN != server.QueueARN("orders") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if q, err := dead.OpenURL(t.Context(), "http://queue.localhost.localstack.cloud/000000000000/orders", 0); err != nil || q.ARN != server.QueueARN("orders") {
		t.Errorf("the URL of an answer: %v", err)
	}
	const vpc = "https://vpce-0a-1b2c.sqs.eu-west-1.vpce.amazonaws.com"
	account, err := queue.Connect(t.Context(), queue.Settings{}, vpc+"/123456789012/dead")
	golden.OK(t, err)
	for name, want := range map[string][2]string{
		"orders": {"eu-west-1", vpc}, "arn:aws:sqs:eu-west-1:123456789012:orders": {"eu-west-1", vpc},
		"arn:aws:sqs:us-east-1:123456789012:orders":               {"us-east-1", ""},
		"https://sqs.eu-west-1.amazonaws.com/123456789012/orders": {"eu-west-1", ""},
		server.QueueURL("orders"):                                 {"eu-west-1", server.URL()},
	} {
		client, err := account.Client(t.Context(), name)
		golden.OK(t, err)
		if o := client.Options(); o.Region != want[0] || aws.ToString(o.BaseEndpoint) != want[1] {
			t.Errorf("%s is called at %q in %s", name, aws.ToString(o.BaseEndpoint), o.Region)
		}
	}
}

// The text comes from a message.
func TestOpenARN_TakesNothingElse(t *testing.T) {
	server := served(t)
	other := golden.Uncalled(t)
	account, _ := opened(t, queue.Settings{}, server.QueueURL("dead"))
	for _, text := range []string{"", "orders", server.QueueURL("orders"), "http://" + other + "/1/orders", "//" + other, "arn:aws:sqs:" + other + "/:1:q:x"} {
		if q, err := account.OpenARN(t.Context(), text, 0); err != queue.ErrNotARN || q != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Other services are called where the queue is if that is not AWS, unless they have an endpoint of their
// own. AWS's are never asked about a queue that is elsewhere.
func TestEndpoint_OfOtherServices(t *testing.T) {
	served(t)
	const own, vpc = "http://lambda.test", "https://vpce-0a-1b2c.sqs.us-east-1.vpce.amazonaws.com"
	for _, c := range []struct {
		settings    queue.Settings
		name        string
		environment map[string]string
		want        string
	}{
		{queue.Settings{}, "orders", nil, ""},
		{queue.Settings{}, "https://sqs.us-east-1.amazonaws.com/000000000000/orders", nil, ""},
		{queue.Settings{}, vpc + "/000000000000/orders", nil, ""},
		{queue.Settings{Endpoint: vpc}, "orders", nil, ""},
		{queue.Settings{Endpoint: "http://127.0.0.1:1"}, "orders", map[string]string{"AWS_ENDPOINT_URL_LAMBDA": own}, "http://127.0.0.1:1"},
		{queue.Settings{}, "http://127.0.0.1:1/000000000000/orders", nil, "http://127.0.0.1:1"},
		{queue.Settings{}, "orders", map[string]string{"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:1"}, "http://127.0.0.1:1"},
		{queue.Settings{}, "orders", map[string]string{"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_LAMBDA": own}, own},
		{queue.Settings{}, "orders", map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "http://127.0.0.1:1"},
		{queue.Settings{}, "orders", map[string]string{"AWS_ENDPOINT_URL_LAMBDA": own}, own},
		{queue.Settings{}, "orders", map[string]string{"AWS_ENDPOINT_URL_LAMBDA": own, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			account, err := queue.Connect(t.Context(), c.settings, c.name)
			golden.OK(t, err)
			if got := account.Endpoint("Lambda"); got != c.want {
				t.Errorf("%+v: %q, want %q", c, got, c.want)
			}
		})
	}
}
