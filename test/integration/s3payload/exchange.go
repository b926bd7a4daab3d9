package s3payload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsqueue"
)

// receiving is with the client that the package makes by itself.
var receiving = s3payload.Config{Buckets: []string{bucket}, DeleteAfterSuccess: true}

func pythonToUnwrap(ctx context.Context, w *world) error {
	return fromPython(ctx, w, "unwrap", func(note func(string, batch.Record)) batch.Handler {
		return s3payload.Unwrap(receiving)(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			note(r.Body, r)
			return nil
		}))
	})
}

func pythonToStream(ctx context.Context, w *world) error {
	return fromPython(ctx, w, "stream", func(note func(string, batch.Record)) batch.Handler {
		return s3payload.Stream(func(ctx context.Context, o s3payload.Object) error {
			body, err := io.ReadAll(o.Body)
			if err != nil {
				return err
			}
			if int64(len(body)) != o.Size {
				return fmt.Errorf("%d bytes of %d", len(body), o.Size)
			}
			r, _ := batch.RecordFrom(ctx)
			note(string(body), r)
			return nil
		}, receiving)
	})
}

// fromPython lets the library send, and a handler receive until all is there.
func fromPython(ctx context.Context, w *world, name string, made func(note func(string, batch.Record)) batch.Handler) error {
	url, err := sqsqueue.Make(ctx, w.queues, name, nil)
	if err != nil {
		return err
	}
	sent, err := w.extended(ctx, "send", url, bucket)
	if err != nil {
		return err
	}
	if n, err := w.objects(ctx); err != nil || n < 7 {
		return errors.Join(err, fmt.Errorf("the library has put only %d objects into S3", n))
	}
	var mu sync.Mutex
	var got []message
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	h := made(func(body string, r batch.Record) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, received(body, r)); len(got) == len(sent) {
			time.AfterFunc(time.Second, stop) // the last is settled, and there is no more
		}
	})
	err = handler.Poll(ctx, h, handler.Config{
		SQS: w.queues, Logger: w.logger(), Poll: handler.PollConfig{Queues: []string{url}, Wait: time.Second},
	})
	if err != nil {
		return err
	}
	return same(sent, got)
}

// senderToPython sends in both generations.
func senderToPython(ctx context.Context, w *world) error {
	url, err := sqsqueue.Make(ctx, w.queues, "python", nil)
	if err != nil {
		return err
	}
	var sent []message
	for _, legacy := range []bool{false, true} {
		store, err := s3payload.NewUploader(s3payload.UploaderConfig{Bucket: bucket, Prefix: "orders/", Legacy: legacy})
		if err != nil {
			return err
		}
		s, err := sender.New(w.queues, sender.Config{Queue: url, Prepare: store.Prepare})
		if err != nil {
			return err
		}
		for i, body := range []string{"small", strings.Repeat("large ", 60_000), strings.Repeat("ü", 140_000)} {
			attributes := map[string]string{"kind": "order", "n": strconv.Itoa(i)}
			if err := s.Send(ctx, sender.Message{Body: body, Attributes: typed(attributes)}); err != nil {
				return err
			}
			sent = append(sent, newMessage(body, attributes))
		}
		s.Close(ctx)
	}
	if n, err := w.objects(ctx); err != nil || n < 4 {
		return errors.Join(err, fmt.Errorf("only %d objects are in S3", n))
	}
	got, err := w.extended(ctx, "receive", url, bucket, strconv.Itoa(len(sent)))
	if err != nil {
		return err
	}
	return same(sent, got)
}

func (w *world) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(w.stage.Log, nil)) }

// missing is what a real server says of no object and of no bucket: both fail for
// good, and the former is ignored if that was asked for.
func missing(ctx context.Context, w *world) error {
	var wrong []error
	for name, want := range map[string]string{bucket: "no such object in S3", "sqsbatch-no-such-bucket": "no such bucket in S3"} {
		r := batch.Record{MessageID: "m", Body: fmt.Sprintf(`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":%q,"s3Key":"none"}]`, name)}
		cfg := s3payload.Config{Buckets: []string{name}, Warnings: log.New(w.logger(), log.Options{})}
		h := batch.Text(func(context.Context, string) error { return errors.New("the function was called") })
		err := s3payload.Unwrap(cfg)(h).Handle(ctx, r)
		if fmt.Println(err); !batch.VerdictOf(err).Permanent || !strings.Contains(err.Error(), want) {
			wrong = append(wrong, fmt.Errorf("in %s: %w", name, err))
		}
		cfg.IgnoreMissing = true
		if err := s3payload.Unwrap(cfg)(h).Handle(ctx, r); (err == nil) != (name == bucket) {
			wrong = append(wrong, fmt.Errorf("ignored, in %s: %w", name, err))
		}
	}
	return errors.Join(wrong...)
}

// message is one as its sender had it, or its receiver got it.
type message struct {
	Digest     string
	Bytes      int
	Attributes map[string]string
}

func (m message) String() string {
	return fmt.Sprintf("%d bytes, %.8s…, attributes %v", m.Bytes, m.Digest, m.Attributes)
}

func newMessage(body string, attributes map[string]string) message {
	digest := sha256.Sum256([]byte(body))
	return message{hex.EncodeToString(digest[:]), len(body), attributes}
}

// received is what reached a function.
func received(body string, r batch.Record) message {
	attributes := map[string]string{}
	for name, a := range r.MessageAttributes {
		attributes[name] = a.StringValue
	}
	return newMessage(body, attributes)
}

// typed are attributes for a sender.
func typed(attributes map[string]string) map[string]batch.MessageAttribute {
	all := map[string]batch.MessageAttribute{}
	for name, value := range attributes {
		all[name] = batch.MessageAttribute{DataType: "String", StringValue: value}
	}
	return all
}

// extended runs the library, and returns the messages that it tells of.
func (w *world) extended(ctx context.Context, args ...string) ([]message, error) {
	out, err := w.stage.Log.Run(w.python.Command(ctx, append([]string{filepath.Join(w.stage.Root, "test", "integration", "s3payload", "python", "extended.py")}, args...)...))
	if err != nil {
		return nil, err
	}
	var all []message
	for line := range strings.Lines(out) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// same compares what was sent with what was received, whatever its order.
func same(sent, got []message) error {
	count := map[string]int{}
	for _, m := range sent {
		count[m.String()]++
	}
	for _, m := range got {
		count[m.String()]--
	}
	var wrong []error
	for _, m := range slices.Sorted(maps.Keys(count)) {
		if n := count[m]; n > 0 {
			wrong = append(wrong, fmt.Errorf("not received: %s", m))
		} else if n < 0 {
			wrong = append(wrong, fmt.Errorf("not sent: %s", m))
		}
	}
	if len(sent) == 0 {
		wrong = append(wrong, errors.New("nothing was sent"))
	}
	fmt.Printf("%d messages sent, %d received\n", len(sent), len(got))
	return errors.Join(wrong...)
}
