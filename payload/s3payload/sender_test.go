package s3payload_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

func newSender(t testing.TB, q *testqueue.Queue, f *fakeS3, cfg s3payload.SenderConfig) *s3payload.Sender {
	t.Helper()
	cfg.Bucket, cfg.S3, cfg.SQS = "payloads", f.client(), q.Client
	s, err := s3payload.NewSender(cfg)
	ok(t, err)
	return s
}

func attributes(n int) map[string]types.MessageAttributeValue {
	all := map[string]types.MessageAttributeValue{}
	for i := range n {
		all[fmt.Sprint("a", i)] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("value")}
	}
	return all
}

const anyPointer = `^\["software\.amazon\.payloadoffloading\.PayloadS3Pointer",\{"s3BucketName":"payloads","s3Key":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"\}\]$`

func TestSendMessage(t *testing.T) {
	large := strings.Repeat("é", s3payload.Threshold/2) + "!"
	for name, c := range map[string]struct {
		cfg        s3payload.SenderConfig
		body       string
		attributes int
		pointer    string // none if it is to be sent as it is
		attribute  string
	}{
		"small":                     {body: order},
		"just not too large":        {body: large[:s3payload.Threshold]},
		"too large":                 {body: large, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"with its attributes":       {body: large[:s3payload.Threshold], attributes: 9, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"a threshold of one's own":  {cfg: s3payload.SenderConfig{Threshold: len(order) - 1}, body: order, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"above SQS's own, beneath":  {cfg: s3payload.SenderConfig{Threshold: 1 << 20}, body: large},
		"always, and a prefix":      {cfg: s3payload.SenderConfig{Always: true, Prefix: "orders/"}, body: order, pointer: `"s3Key":"orders/[0-9a-f-]{36}"`, attribute: "ExtendedPayloadSize"},
		"for the first generation":  {cfg: s3payload.SenderConfig{Always: true, Legacy: true}, body: order, pointer: `^\["com\.amazon\.sqs\.javamessaging\.MessageS3Pointer",\{"s3BucketName":"payloads","s3Key":"[0-9a-f-]{36}"\}\]$`, attribute: "SQSLargePayloadSize"},
		"ten attributes and a body": {body: order, attributes: 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, f := testqueue.New(t, testqueue.Standard), newS3(t)
				given := attributes(c.attributes)
				in := &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &c.body, MessageAttributes: given}
				if _, err := newSender(t, q, f, c.cfg).SendMessage(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if *in.MessageBody != c.body || len(given) != c.attributes {
					t.Error("the input was changed")
				}
				r := q.Receive(1)[0]
				if c.pointer == "" {
					if r.Body != c.body || len(r.MessageAttributes) != c.attributes || f.called() != "" {
						t.Errorf("%.80q, %v; calls: %s", r.Body, r.MessageAttributes, f.called())
					}
					return
				}
				size := r.MessageAttributes[c.attribute]
				if !regexp.MustCompile(c.pointer).MatchString(r.Body) || len(r.MessageAttributes) != c.attributes+1 ||
					size.DataType != "Number" || size.StringValue != fmt.Sprint(len(c.body)) {
					t.Errorf("%q, %v", r.Body, r.MessageAttributes)
				}
				got, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, r)
				if err != nil || got.Body != c.body || len(got.MessageAttributes) != c.attributes {
					t.Errorf("it does not come back: %v, %v", got.MessageAttributes, err)
				}
			})
		})
	}
}

func TestWhatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		s := newSender(t, q, f, s3payload.SenderConfig{Always: true})
		taken := attributes(1)
		taken["SQSLargePayloadSize"] = taken["a0"]
		for want, given := range map[string]map[string]types.MessageAttributeValue{
			"the message has 10 attributes and SQS allows 10": attributes(10),
			"the message has the attribute SQSLargePayload":   taken,
		} {
			_, err := s.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String(order), MessageAttributes: given})
			_, batchErr := s.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: []types.SendMessageBatchRequestEntry{
				{Id: aws.String("a"), MessageBody: aws.String("one")}, {Id: aws.String("b"), MessageBody: aws.String(order), MessageAttributes: given},
			}})
			for _, err := range []error{err, batchErr} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		}
		if f.called() != "" {
			t.Errorf("calls: %s", f.called())
		}
		f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
			return f.refuse(r, 403, "AccessDenied"), nil
		}
		_, err := s.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String(order)})
		if err == nil || !strings.Contains(err.Error(), `put the body into bucket "payloads"`) || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("S3 denies: %v", err)
		}
		for _, in := range []*awssqs.SendMessageInput{nil, {}, {QueueUrl: &q.URL}} {
			if _, err := s.SendMessage(t.Context(), in); err == nil {
				t.Errorf("%+v was sent", in)
			}
		}
		if _, err := s.SendMessageBatch(t.Context(), nil); err == nil {
			t.Error("nothing was sent")
		}
		if calls := q.Calls(); len(calls) > 0 && len(q.Receive(10)) > 0 {
			t.Errorf("sent: %v", calls)
		}
	})
}

func TestSendMessageBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		s := newSender(t, q, f, s3payload.SenderConfig{})
		bodies := map[string]string{}
		in := &awssqs.SendMessageBatchInput{QueueUrl: &q.URL}
		for i, n := range []int{300_000, 10, 250_000, 250_000, 240_000, 240_000, 240_000, 240_000, 255_000, 20} {
			id := fmt.Sprint("m", i)
			bodies[id] = strings.Repeat(string(rune('a'+i)), n)
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String(bodies[id])})
		}
		out, err := s.SendMessageBatch(t.Context(), in)
		if err != nil || len(out.Successful) != 10 {
			t.Fatal(out, err)
		}
		// 300,000 is above the threshold; the largest others go until 1 MiB is enough.
		if n := len(f.objects); n != 4 {
			t.Errorf("%d bodies are in S3, want 4", n)
		}
		got := map[string]bool{}
		for _, r := range q.Receive(10) {
			inner, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, r)
			ok(t, err)
			got[inner.Body] = true
		}
		for id, body := range bodies {
			if !got[body] {
				t.Errorf("%s did not arrive", id)
			}
		}
		if *in.Entries[0].MessageBody != bodies["m0"] || in.Entries[0].MessageAttributes != nil {
			t.Error("the input was changed")
		}
		calls := f.called()
		small := &awssqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: in.Entries[9:]}
		if _, err := s.SendMessageBatch(t.Context(), small); err != nil || f.called() != calls {
			t.Errorf("a small one: %v", err)
		}
	})
}

// SQS's own deduplication would be by the pointer, which is another each time.
func TestFIFOMessagesAreDeduplicatedByTheirBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.FIFO), newS3(t)
		s := newSender(t, q, f, s3payload.SenderConfig{Always: true})
		send := func(body string, id *string) {
			in := &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &body, MessageGroupId: aws.String("g"), MessageDeduplicationId: id}
			if _, err := s.SendMessage(context.Background(), in); err != nil {
				t.Fatal(err)
			}
		}
		send("one", nil)
		send("one", nil)
		send("one", aws.String("another"))
		if n := len(q.Receive(10)); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestSenderConfiguration(t *testing.T) {
	for want, cfg := range map[string]s3payload.SenderConfig{
		`SenderConfig.Bucket is ""`:          {},
		`SenderConfig.Bucket is " b"`:        {Bucket: " b"},
		`SenderConfig.Prefix is "a/../b"`:    {Bucket: "b", Prefix: "a/../b"},
		`SenderConfig.Prefix is "\xff/"`:     {Bucket: "b", Prefix: "\xff/"}, // JSON would have another
		`SenderConfig.Threshold is -1`:       {Bucket: "b", Threshold: -1},
		"SenderConfig.Threshold is 1048577,": {Bucket: "b", Threshold: 1<<20 + 1},
	} {
		if s, err := s3payload.NewSender(cfg); s != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

func TestAnUploadMayBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
			if r.Method == http.MethodPut && r.Header.Get("X-Amz-Storage-Class") != "STANDARD_IA" {
				t.Errorf("%v", r.Header)
			}
			return nil, nil
		}
		s := newSender(t, q, f, s3payload.SenderConfig{Always: true, Put: func(in *s3.PutObjectInput) {
			in.StorageClass = "STANDARD_IA"
			in.Key = aws.String("key of one's own")
		}})
		if _, err := s.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String(order)}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, q.Receive(1)[0]); err != nil || got.Body != order {
			t.Errorf("%+v, %v; calls: %s", got, err, f.called())
		}
	})
}

// A pointer that no receiver follows to the object is not sent, nor the object put.
func TestAnUploadThatNoPointerLeadsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		for _, key := range []string{"", "\xff", "a/../b", strings.Repeat("k", 1025)} {
			s := newSender(t, q, f, s3payload.SenderConfig{Always: true, Put: func(in *s3.PutObjectInput) { in.Key = &key }})
			_, err := s.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String(order)})
			if err == nil || !strings.Contains(err.Error(), "SenderConfig.Put made") || f.called() != "" || len(q.Receive(1)) > 0 {
				t.Errorf("%.20q: %v; calls: %s", key, err, f.called())
			}
		}
	})
}

var _ batch.WarningHook = (*warned)(nil)
