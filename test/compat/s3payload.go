package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// extendedVersion is the library's that the checks were written against.
const extendedVersion = "1.0.1"

// bucket is where payloads are.
const bucket = "sqsbatch-payloads"

// checkS3Payload exchanges messages whose bodies are in S3 with Amazon's SQS
// Extended Client Library for Python: it sends and payload/s3payload receives, and
// the other way round, in both generations of the pointer. S3 is moto's server in
// a process of its own, SQS is emulator/sqs on a socket.
//
// It needs Python 3 with its venv module, and PyPI on the first use: it shares
// SAM's environment, which has moto, and has one for the library.
func checkS3Payload(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	w := &s3World{stage: s}
	defer func() { err = errors.Join(err, w.stop()) }()
	w.start(ctx)
	s.Step("Python sends, Unwrap receives", func() error { return w.run(ctx, pythonToUnwrap) })
	s.Step("Python sends, Stream receives", func() error { return w.run(ctx, pythonToStream) })
	s.Step("package sender sends, Python receives", func() error { return w.run(ctx, senderToPython) })
	s.Step("what S3 says of what is missing", func() error { return w.run(ctx, missing) })
	return nil
}

// s3World is what the steps share.
type s3World struct {
	stage  *tools.Stage
	python *tools.Python
	moto   *tools.Moto
	sqs    *sqs.Server
	s3     *s3.Client
	queues *awssqs.Client
}

func (w *s3World) start(ctx context.Context) {
	sam := must.Get(tools.InstallSAM(ctx))
	name := "sqs-extended-client-" + extendedVersion + "-boto3-" + tools.Boto3
	w.python = must.Get(tools.InstallPython(ctx, name, "amazon-sqs-extended-client=="+extendedVersion, "boto3=="+tools.Boto3))
	w.moto = must.Get(tools.StartMoto(ctx, w.stage, sam, programs+"/moto_s3.py"))
	w.sqs = must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{}))
	// The clients are those that payload/s3payload makes by itself, and Python's,
	// which would put the bucket's name before the host's otherwise.
	settings := filepath.Join(w.stage.Tmp, "aws")
	must.Do(os.WriteFile(settings, []byte("[default]\ns3 =\n  addressing_style = path\n"), 0o600))
	os.Clearenv()
	for _, v := range tools.Environment("AWS_ENDPOINT_URL_S3="+w.moto.URL, "AWS_ENDPOINT_URL_SQS="+w.sqs.URL(), "AWS_CONFIG_FILE="+settings) {
		name, value, _ := strings.Cut(v, "=")
		must.Do(os.Setenv(name, value))
	}
	cfg := must.Get(config.LoadDefaultConfig(ctx))
	w.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	w.queues = awssqs.NewFromConfig(cfg)
	must.Get(w.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)}))
}

// run is a step, which leaves no object.
func (w *s3World) run(ctx context.Context, check func(context.Context, *s3World)) (err error) {
	defer must.Return(&err)
	check(ctx, w)
	if n := w.objects(ctx); n > 0 {
		return fmt.Errorf("%d objects are left in the bucket", n)
	}
	return nil
}

func (w *s3World) objects(ctx context.Context) int {
	return len(must.Get(w.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})).Contents)
}

func (w *s3World) stop() error {
	if w.moto != nil {
		w.moto.Stop()
	}
	if w.sqs == nil {
		return nil
	}
	return w.sqs.Close()
}

// receiving is with the client that the package makes by itself.
var receiving = s3payload.Config{Buckets: []string{bucket}, Prefixes: []string{""}, DeleteAfterSuccess: true}

func pythonToUnwrap(ctx context.Context, w *s3World) {
	fromPython(ctx, w, "unwrap", func(note func(string, batch.Record)) batch.Handler {
		return s3payload.Unwrap(receiving)(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			note(r.Body, r)
			return nil
		}))
	})
}

func pythonToStream(ctx context.Context, w *s3World) {
	fromPython(ctx, w, "stream", func(note func(string, batch.Record)) batch.Handler {
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
func fromPython(ctx context.Context, w *s3World, name string, made func(note func(string, batch.Record)) batch.Handler) {
	url := must.Get(harness.MakeQueue(ctx, w.queues, name, nil))
	sent := w.extended(ctx, "send", url, bucket)
	if n := w.objects(ctx); n < 7 {
		must.Failf("the library has put only %d objects into S3", n)
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
	must.Do(handler.Poll(ctx, h, handler.Config{
		SQS: w.queues, Logger: w.stage.Logger(), Poll: handler.PollConfig{Queues: []string{url}, Wait: time.Second},
	}))
	must.Do(same(sent, got))
}

// senderToPython sends in both generations.
func senderToPython(ctx context.Context, w *s3World) {
	url := must.Get(harness.MakeQueue(ctx, w.queues, "python", nil))
	var sent []message
	for _, legacy := range []bool{false, true} {
		store := must.Get(s3payload.NewUploader(s3payload.UploaderConfig{Bucket: bucket, Prefix: "orders/", Legacy: legacy}))
		s := must.Get(sender.New(w.queues, sender.Config{Queue: url, Prepare: store.Prepare}))
		for i, body := range []string{"small", strings.Repeat("large ", 60_000), strings.Repeat("ü", 140_000)} {
			attributes := map[string]string{"kind": "order", "n": strconv.Itoa(i)}
			must.Do(s.Send(ctx, sender.Message{Body: body, Attributes: typed(attributes)}))
			sent = append(sent, newMessage(body, attributes))
		}
		s.Close(ctx) // Send has the results
	}
	if n := w.objects(ctx); n < 4 {
		must.Failf("only %d objects are in S3", n)
	}
	got := w.extended(ctx, "receive", url, bucket, strconv.Itoa(len(sent)))
	must.Do(same(sent, got))
}

// missing is what a real server says of no object and of no bucket: both fail for
// good, and the former is ignored if that was asked for.
func missing(ctx context.Context, w *s3World) {
	var wrong []error
	for name, want := range map[string]string{bucket: "no such object in S3", "sqsbatch-no-such-bucket": "no such bucket in S3"} {
		r := batch.Record{MessageID: "m", Body: fmt.Sprintf(`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":%q,"s3Key":"none"}]`, name)}
		cfg := s3payload.Config{Buckets: []string{name}, Warned: log.New(w.stage.Logger(), log.Config{}).Warned}
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
	must.Do(errors.Join(wrong...))
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

// extended runs the library, and returns the messages that it prints.
func (w *s3World) extended(ctx context.Context, args ...string) (all []message) {
	script := filepath.Join(w.stage.Root, programs, "extended.py")
	out := must.Get(w.stage.Log.Run(w.python.Command(ctx, append([]string{script}, args...)...)))
	for line := range strings.Lines(out) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			must.Failf("%q: %w", line, err)
		}
		all = append(all, m)
	}
	return all
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
