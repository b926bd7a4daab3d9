package s3payload_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
)

// slowFor makes uploads of one size slow.
type slowFor struct {
	*fakeS3
	size int64
	time time.Duration
}

func (s slowFor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ContentLength == s.size {
		time.Sleep(s.time)
	}
	return s.fakeS3.RoundTrip(r)
}

// inPrepare runs a test with an SQS queue, and a sender whose bodies go through f.
func inPrepare(t *testing.T, queue string, transport func(*fakeS3) http.RoundTripper, cfg sender.Config, script func(t *testing.T, s *sender.Sender, server *sqs.Server, f *fakeS3)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, f := sqs.New(sqs.Options{}), newS3(t)
		defer server.Close()
		in := &awssqs.CreateQueueInput{QueueName: &queue}
		if strings.HasSuffix(queue, ".fifo") {
			in.Attributes = map[string]string{"FifoQueue": "true"}
		}
		if _, err := server.Client().CreateQueue(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		store, err := s3payload.NewSender(s3payload.SenderConfig{Bucket: "payloads", S3: s3.New(s3.Options{
			Region: "eu-west-1", BaseEndpoint: aws.String("http://s3.test"), UsePathStyle: true, HTTPClient: &http.Client{Transport: transport(f)},
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		})})
		ok(t, err)
		cfg.Queue, cfg.Prepare = server.QueueURL(queue), store.Prepare
		s, err := sender.New(server.Client(), cfg)
		ok(t, err)
		script(t, s, server, f)
	})
}

// Ten bodies of 2 MB fit into one call, and are stored at the same time.
func TestPrepare_BodiesAreStoredConcurrentlyAndShareACall(t *testing.T) {
	transport := func(f *fakeS3) http.RoundTripper { f.slow = time.Second; return f }
	inPrepare(t, "orders", transport, sender.Config{Linger: 50 * time.Millisecond}, func(t *testing.T, s *sender.Sender, server *sqs.Server, f *fakeS3) {
		began := time.Now()
		sends := s.Begin(t.Context())
		for i := range 10 {
			ok(t, sends.Enqueue(sender.Text(fmt.Sprint(i)+strings.Repeat("x", 2_000_000))))
		}
		ok(t, sends.Wait())
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v, want 1 s for the uploads", took)
		}
		if n := len(server.Calls("SendMessageBatch")); n > 2 || len(f.objects) != 10 { // the first one after a pause does not linger
			t.Errorf("%d calls, %d objects", n, len(f.objects))
		}
	})
}

// A slow upload holds up its group alone, and the order of the group is kept.
func TestPrepare_ASlowUploadKeepsTheOrderOfItsGroup(t *testing.T) {
	const size = 2_000_000
	transport := func(f *fakeS3) http.RoundTripper { return slowFor{f, size, time.Minute} }
	inPrepare(t, "orders.fifo", transport, sender.Config{}, func(t *testing.T, s *sender.Sender, server *sqs.Server, f *fakeS3) {
		for _, m := range []sender.Message{
			{Group: "a", Body: strings.Repeat("x", size)}, {Group: "a", Body: "second"}, {Group: "b", Body: strings.Repeat("y", size/2)}, {Group: "b", Body: "fourth"},
		} {
			ok(t, s.Enqueue(t.Context(), m, nil))
		}
		time.Sleep(time.Second)
		if n := len(server.Snapshot()[0].Messages); n != 2 {
			t.Errorf("%d messages, want those of group b", n)
		}
		ok(t, s.Flush(t.Context()))
		var a []string
		for _, m := range server.Snapshot()[0].Messages {
			if m.MessageGroupID == "a" {
				a = append(a, m.Body[:2])
			}
		}
		if !slices.Equal(a, []string{`["`, "se"}) {
			t.Errorf("group a has %q, want the pointer first", a)
		}
	})
}

// Deduplication by content is that of the body: pointers all differ.
func TestPrepare_DeduplicationByContent(t *testing.T) {
	transport := func(f *fakeS3) http.RoundTripper { return f }
	inPrepare(t, "orders.fifo", transport, sender.Config{ContentBasedDeduplication: true}, func(t *testing.T, s *sender.Sender, server *sqs.Server, f *fakeS3) {
		for _, first := range []string{"a", "a", "b"} {
			ok(t, s.Send(t.Context(), sender.Message{Group: "g", Body: first + strings.Repeat("x", 300_000)}))
		}
		if n := len(server.Snapshot()[0].Messages); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestPrepare_AFailedUploadFailsTheMessage(t *testing.T) {
	transport := func(f *fakeS3) http.RoundTripper {
		f.fault = func(r *http.Request, bucket, key string) (*http.Response, error) {
			return f.refuse(r, 403, "AccessDenied"), nil
		}
		return f
	}
	inPrepare(t, "orders", transport, sender.Config{}, func(t *testing.T, s *sender.Sender, server *sqs.Server, f *fakeS3) {
		err := s.Send(t.Context(), sender.Text(strings.Repeat("x", 300_000)))
		if err == nil || !strings.Contains(err.Error(), `put the body into bucket "payloads"`) {
			t.Error(err)
		}
		tooMany := sender.Message{Body: strings.Repeat("x", 300_000), Attributes: map[string]batch.MessageAttribute{}}
		for i := range 10 {
			tooMany.Attributes[fmt.Sprint("a", i)] = text("x")
		}
		if err := s.Send(t.Context(), tooMany); err == nil || !strings.Contains(err.Error(), "no room for ExtendedPayloadSize") {
			t.Error(err)
		}
		if err := s.Send(t.Context(), sender.Text("small")); err != nil {
			t.Error(err)
		}
	})
}

// A batching sender of messages of any size. Bodies that are still too large when they are
// compressed go to S3. Receivers use s3payload.Unwrap around encoded.Unwrap.
func ExampleSender_Prepare() {
	server := sqs.New(sqs.Options{}) // in a program: SQS
	defer server.Close()
	client, name := server.Client(), "orders"
	if _, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		panic(err)
	}
	fake := &fakeS3{objects: map[string]string{}}

	store, err := s3payload.NewSender(s3payload.SenderConfig{Bucket: "orders-payloads", S3: fake.client()})
	if err != nil {
		panic(err)
	}
	s, err := sender.New(client, sender.Config{
		Queue: name,
		Prepare: func(ctx context.Context, m *sender.Message) error {
			if err := encoded.Prepare(ctx, m); err != nil {
				return err
			}
			return store.Prepare(ctx, m)
		},
	})
	if err != nil {
		panic(err)
	}
	incompressible := make([]byte, 2<<20)
	for i := range incompressible {
		incompressible[i] = '0' + byte(rand.N(10))
	}
	err = s.Send(context.Background(), sender.Text(string(incompressible)))
	sent := server.Snapshot()[0].Messages[0]
	fmt.Println(err, len(fake.objects), "object,", len(sent.Body) < 200, sent.Attributes["Content-Encoding"].String)
	// Output:
	// <nil> 1 object, true gzip
}
