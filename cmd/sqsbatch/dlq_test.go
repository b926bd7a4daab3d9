package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// deadLetter serves the queues dead, with one message, and orders.
func deadLetter(t *testing.T, body string) *sqs.Server {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	golden.OK(t, err)
	t.Cleanup(func() { _ = server.Close() })
	for _, name := range []string{"dead", "orders"} {
		_, err := server.Client().CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
		golden.OK(t, err)
	}
	url := server.QueueURL("dead")
	_, err = server.Client().SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	golden.OK(t, err)
	// The configuration of the person who runs the test is not used.
	for name, value := range map[string]string{
		"XDG_STATE_HOME": t.TempDir(), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	for _, name := range []string{ // to the SDK, an empty one is not the same as none
		"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_S3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	} {
		t.Setenv(name, "")
		golden.OK(t, os.Unsetenv(name))
	}
	return server
}

// bodies are those of the messages in a queue.
func bodies(server *sqs.Server, queue string) (list []string) {
	for _, q := range server.Snapshot() {
		for _, m := range q.Messages {
			if q.Name == queue {
				list = append(list, m.Body)
			}
		}
	}
	return list
}

// A body in S3 is shown if its bucket is named. The region is that of the queue. The server
// has no names for buckets below its own, as most that stand in for S3.
func TestDLQShow_ReadsBodiesInS3(t *testing.T) {
	requests := make(chan *http.Request, 10)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		_, _ = io.WriteString(w, `{"customer":17}`)
	}))
	defer store.Close()
	server := deadLetter(t, `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"payloads","s3Key":"a/1"}]`)
	t.Setenv("AWS_ENDPOINT_URL_S3", strings.Replace(store.URL, "127.0.0.1", "localhost", 1))

	show := func(args ...string) (stdout, stderr string) {
		t.Helper()
		status, stdout, stderr := run(t, append([]string{"dlq", "show", server.QueueURL("dead")}, args...)...)
		if status != 0 {
			t.Errorf("status %d: %s", status, stderr)
		}
		return stdout, stderr
	}
	if out, errOut := show("--s3-bucket", "payloads"); !strings.Contains(out, `"customer": 17`) || errOut != "" {
		t.Errorf("%s\n%s", out, errOut)
	}
	select {
	case r := <-requests:
		if r.URL.Path != "/payloads/a/1" || !strings.Contains(r.Header.Get("Authorization"), "/us-east-1/s3/") {
			t.Errorf("asked for %s with %s", r.URL.Path, r.Header.Get("Authorization"))
		}
	default:
		t.Error("S3 was not asked")
	}
	// A sender could point to any bucket, so no other is read.
	if out, errOut := show("--s3-bucket", "others"); !strings.Contains(out, "s3://payloads/a/1") || !strings.Contains(errOut, "its body in S3 cannot be read") {
		t.Errorf("%s\n%s", out, errOut)
	}
	if out, _ := show(); !strings.Contains(out, "it was not fetched") {
		t.Error(out)
	}
	if len(requests) > 0 || len(bodies(server, "dead")) != 1 {
		t.Errorf("%d more requests to S3, and the queue has %q", len(requests), bodies(server, "dead"))
	}
}

// bury sends a message to dead as sqsbatch does.
func bury(t *testing.T, server *sqs.Server, body, from string) {
	t.Helper()
	value, _ := partialfailure.Origin{Reason: "x", MessageID: "m", Queue: from}.Value(1000)
	_, err := server.Client().SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: aws.String(server.QueueURL("dead")), MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{"sqsbatch": {DataType: aws.String("String"), StringValue: &value}},
	})
	golden.OK(t, err)
}

// Anyone who may send to the queue, or to one that dead-letters to it, can write an origin.
// A host in it would be called with the user's credentials. An ARN is called where the
// dead-letter queue is.
func TestDLQReplay_CallsNoHostThatAMessageNames(t *testing.T) {
	server := deadLetter(t, "1")
	other := golden.Uncalled(t)
	forged := []string{"http://" + other + "/000000000000/orders", "https://" + other + "/000000000000/orders", server.QueueURL("orders"), "orders", "//" + other}
	for _, from := range forged {
		bury(t, server, "forged", from)
	}
	bury(t, server, "good", server.QueueARN("orders"))
	for _, c := range []struct{ queue, endpoint, yes string }{{server.QueueURL("dead"), "", "--yes"}, {"dead", server.URL(), "--yes=false"}} {
		if c.endpoint != "" {
			t.Setenv("AWS_ENDPOINT_URL", c.endpoint)
		}
		status, stdout, stderr := run(t, "dlq", "replay", c.queue, "--by", "send", "--origin", server.QueueARN("orders"), c.yes)
		if status != 3 || !strings.Contains(stdout, "5  left: the queue that its attribute sqsbatch names is not an ARN") {
			t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
		}
	}
	if got := bodies(server, "orders"); len(got) != 1 || got[0] != "good" {
		t.Errorf("orders has %q", got)
	}
}
