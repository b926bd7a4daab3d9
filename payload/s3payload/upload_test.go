package s3payload_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func newUploader(t testing.TB, f *fakeS3, cfg s3payload.UploaderConfig) *s3payload.Uploader {
	t.Helper()
	cfg.Bucket, cfg.Client = "payloads", f.client()
	u, err := s3payload.NewUploader(cfg)
	ok(t, err)
	return u
}

func attributes(n int) map[string]batch.MessageAttribute {
	all := map[string]batch.MessageAttribute{}
	for i := range n {
		all[fmt.Sprint("a", i)] = text("value")
	}
	return all
}

const anyPointer = `^\["software\.amazon\.payloadoffloading\.PayloadS3Pointer",\{"s3BucketName":"payloads","s3Key":"[A-Z2-7]{26}"\}\]$`

func TestPrepare(t *testing.T) {
	large := strings.Repeat("é", s3payload.Threshold/2) + "!"
	for name, c := range map[string]struct {
		cfg        s3payload.UploaderConfig
		body       string
		attributes int
		pointer    string // none if it is to be sent as it is
		attribute  string
	}{
		"small":                     {body: order},
		"just not too large":        {body: large[:s3payload.Threshold]},
		"too large":                 {body: large, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"with its attributes":       {body: large[:s3payload.Threshold], attributes: 9, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"a threshold of one's own":  {cfg: s3payload.UploaderConfig{Threshold: len(order) - 1}, body: order, pointer: anyPointer, attribute: "ExtendedPayloadSize"},
		"above SQS's own, beneath":  {cfg: s3payload.UploaderConfig{Threshold: 1 << 20}, body: large},
		"always, and a prefix":      {cfg: s3payload.UploaderConfig{Always: true, Prefix: "orders/"}, body: order, pointer: `"s3Key":"orders/[A-Z2-7]{26}"`, attribute: "ExtendedPayloadSize"},
		"for the first generation":  {cfg: s3payload.UploaderConfig{Always: true, Legacy: true}, body: order, pointer: `^\["com\.amazon\.sqs\.javamessaging\.MessageS3Pointer",\{"s3BucketName":"payloads","s3Key":"[A-Z2-7]{26}"\}\]$`, attribute: "SQSLargePayloadSize"},
		"ten attributes and a body": {body: order, attributes: 10},
	} {
		t.Run(name, func(t *testing.T) {
			f := newS3(t)
			given := attributes(c.attributes)
			m := sender.Message{Body: c.body, Attributes: given}
			ok(t, newUploader(t, f, c.cfg).Prepare(t.Context(), &m))
			if len(given) != c.attributes {
				t.Error("the attributes that were given have changed")
			}
			if c.pointer == "" {
				if m.Body != c.body || len(m.Attributes) != c.attributes || f.called() != "" {
					t.Errorf("%.80q, %v; calls: %s", m.Body, m.Attributes, f.called())
				}
				return
			}
			size := m.Attributes[c.attribute]
			if !regexp.MustCompile(c.pointer).MatchString(m.Body) || len(m.Attributes) != c.attributes+1 ||
				size.DataType != "Number" || size.StringValue != fmt.Sprint(len(c.body)) {
				t.Errorf("%q, %v", m.Body, m.Attributes)
			}
			got, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, record(m.Body, m.Attributes))
			if err != nil || got.Body != c.body || len(got.MessageAttributes) != c.attributes {
				t.Errorf("it does not come back: %v, %v", got.MessageAttributes, err)
			}
		})
	}
}

func TestWhatIsNotStored(t *testing.T) {
	for want, name := range map[string]string{
		"the message has 10 attributes and SQS allows 10: no room for ExtendedPayloadSize": "",
		"the message has the attribute SQSLargePayload":                                    "SQSLargePayloadSize",
		"the message has the attribute ExtendedPayload":                                    "ExtendedPayloadSize",
	} {
		f, m := newS3(t), sender.Message{Body: order, Attributes: attributes(10)}
		if name != "" {
			m.Attributes = map[string]batch.MessageAttribute{name: number(1)}
		}
		err := newUploader(t, f, s3payload.UploaderConfig{Always: true}).Prepare(t.Context(), &m)
		if err == nil || !strings.Contains(err.Error(), want) || m.Body != order || f.called() != "" {
			t.Errorf("%v, want %q; calls: %s", err, want, f.called())
		}
	}
}

// By a sender: pointers all differ, so deduplication by content is that of the body. A
// message whose body cannot be stored is not sent.
func TestPrepareForASender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.FIFO), newS3(t)
		s, err := sender.New(q.Client, sender.Config{
			Queue: q.URL, ContentBasedDeduplication: true, Prepare: newUploader(t, f, s3payload.UploaderConfig{Always: true}).Prepare,
		})
		ok(t, err)
		for _, body := range []string{"one", "one", "two"} {
			ok(t, s.Send(t.Context(), sender.Message{Group: "g", Body: body}))
		}
		f.refuseAll("", 403, "AccessDenied")
		err = s.Send(t.Context(), sender.Message{Group: "g", Body: "three"})
		if err == nil || !strings.Contains(err.Error(), `put the body into bucket "payloads"`) || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("S3 denies: %v", err)
		}
		if n := len(q.Receive(10)); n != 2 || len(f.objects) != 3 {
			t.Errorf("%d messages, want 2; %d objects, want 3", n, len(f.objects))
		}
	})
}

func TestUploaderConfiguration(t *testing.T) {
	for want, cfg := range map[string]s3payload.UploaderConfig{
		`UploaderConfig.Bucket is ""`:          {},
		`UploaderConfig.Bucket is " b"`:        {Bucket: " b"},
		`UploaderConfig.Prefix is "a/../b"`:    {Bucket: "b", Prefix: "a/../b"},
		`UploaderConfig.Prefix is "\xff/"`:     {Bucket: "b", Prefix: "\xff/"}, // JSON would have another
		`UploaderConfig.Prefix is "ppp`:        {Bucket: "b", Prefix: strings.Repeat("p", 999)},
		`UploaderConfig.Threshold is -1`:       {Bucket: "b", Threshold: -1},
		"UploaderConfig.Threshold is 1048577,": {Bucket: "b", Threshold: 1<<20 + 1},
	} {
		if u, err := s3payload.NewUploader(cfg); u != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

func TestAnUploadMayBeChanged(t *testing.T) {
	f, m := newS3(t), sender.Text(order)
	f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
		if r.Method == http.MethodPut && r.Header.Get("X-Amz-Storage-Class") != "STANDARD_IA" {
			t.Errorf("%v", r.Header)
		}
		return nil, nil
	}
	ok(t, newUploader(t, f, s3payload.UploaderConfig{Always: true, Put: func(in *s3.PutObjectInput) {
		in.StorageClass = "STANDARD_IA"
		in.Key = aws.String("key of one's own")
	}}).Prepare(t.Context(), &m))
	if got, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, record(m.Body, m.Attributes)); err != nil || got.Body != order {
		t.Errorf("%+v, %v; calls: %s", got, err, f.called())
	}
}

// An object that no pointer leads a receiver to is not put.
func TestAnUploadThatNoPointerLeadsTo(t *testing.T) {
	for _, key := range []string{"", "\xff", "a/../b", strings.Repeat("k", 1025)} {
		f, m := newS3(t), sender.Text(order)
		err := newUploader(t, f, s3payload.UploaderConfig{Always: true, Put: func(in *s3.PutObjectInput) { in.Key = &key }}).Prepare(t.Context(), &m)
		if err == nil || !strings.Contains(err.Error(), "UploaderConfig.Put made") || f.called() != "" || m.Body != order {
			t.Errorf("%.20q: %v; calls: %s", key, err, f.called())
		}
	}
}

// A sender of messages of any size.
func ExampleUploader() {
	server := sqs.New(sqs.Config{}) // in a program: SQS
	defer server.Close()
	client, name := server.Client(), "orders"
	if _, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		panic(err)
	}
	fake := &fakeS3{objects: map[string]string{}}

	store, err := s3payload.NewUploader(s3payload.UploaderConfig{Bucket: "orders-payloads", Client: fake.client()})
	if err != nil {
		panic(err)
	}
	s, err := sender.New(client, sender.Config{Queue: name, Prepare: store.Prepare})
	if err != nil {
		panic(err)
	}
	err = s.Send(context.Background(), sender.Text(strings.Repeat("many words ", 200_000)))
	sent := server.Snapshot()[0].Messages[0]
	fmt.Println(err, len(fake.objects), "object of", sent.Attributes["ExtendedPayloadSize"].String, "bytes")
	// Output: <nil> 1 object of 2200000 bytes
}

// Through a queue and the real handler, with compression: a large message reaches the
// function, and comes back if it fails. A message whose object is missing, and one that
// cannot be decompressed, go to the dead-letter queue as they came.
func TestThroughAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		store := newUploader(t, f, s3payload.UploaderConfig{Threshold: 1000})
		s, err := sender.New(q.Client, sender.Config{Queue: q.URL, Prepare: func(ctx context.Context, m *sender.Message) error {
			return errors.Join(encoded.Prepare(ctx, m), store.Prepare(ctx, m))
		}})
		ok(t, err)
		large := "" // also when it is compressed
		for range 100 {
			large += rand.Text()
		}
		ok(t, s.Send(t.Context(), sender.Text(large)))
		ok(t, s.Send(t.Context(), sender.Text("small")))
		missing := strings.Replace(newer, "a/1", "gone", 1)
		q.Send(missing)
		q.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("not at all"), MessageAttributes: map[string]types.MessageAttributeValue{
			"Content-Encoding": {DataType: aws.String("String"), StringValue: aws.String("gzip")},
		}})

		got := map[string]int{}
		h := batch.Chain(batch.Text(func(ctx context.Context, body string) error {
			r, _ := batch.RecordFrom(ctx)
			if got[body]++; body == large && r.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}), s3payload.Unwrap(s3payload.Config{Buckets: buckets, Client: f.client(), Prefixes: []string{""}, DeleteAfterSuccess: true}), encoded.Unwrap)
		q.Poll(t.Context(), 10*time.Minute, h, handler.Config{Concurrency: 1})
		if len(got) != 2 || got["small"] != 1 || got[large] != 2 || !strings.Contains(f.called(), "PUT") {
			t.Errorf("small: %d, large: %d of %d bodies; calls: %s", got["small"], got[large], len(got), f.called())
		}
		dead := q.DeadLetters()
		slices.SortFunc(dead, func(a, b types.Message) int { return strings.Compare(*a.Body, *b.Body) })
		if len(dead) != 2 || *dead[0].Body != missing || *dead[1].Body != "not at all" || *dead[1].MessageAttributes["Content-Encoding"].StringValue != "gzip" {
			t.Errorf("dead letters %q", q.DeadBodies())
		}
		if left, _ := q.Left(); left != 0 || len(f.objects) != 0 {
			t.Errorf("%d messages and %d objects are left", left, len(f.objects))
		}
	})
}
