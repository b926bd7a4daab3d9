package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// event is what Lambda gives the function, read as far as mutants need it.
type event struct{ Records []map[string]any }

func (e event) bytes() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return b
}

// failures are all records, as of an invocation that failed.
func (e event) failures() (all []failure) {
	for _, r := range e.Records {
		all = append(all, failure{ItemIdentifier: r["messageId"].(string)})
	}
	return all
}

func readEvent(payload []byte) (e event) {
	if err := json.Unmarshal(payload, &e); err != nil {
		panic(err)
	}
	return e
}

type (
	failure = events.SQSBatchItemFailure
	report  = events.SQSEventResponse
)

func readReport(response []byte) (r report) {
	r.BatchItemFailures = []failure{}
	_ = json.Unmarshal(response, &r)
	return r
}

// invoking is a mutant that invokes the function in its own way.
func invoking(invoke func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error)) Mutant {
	return Mutant{Invoke: func(next Invoke, connection http.RoundTripper) Invoke {
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			return invoke(ctx, payload, next, connection)
		}
	}}
}

// wire is a mutant that makes calls to SQS in its own way.
func wire(call func(r *http.Request, next http.RoundTripper) (*http.Response, error)) Mutant {
	return Mutant{Transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return call(r, next) })
	}}
}

// respond is a mutant that changes the response.
func respond(change func(report, event) report) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if err != nil {
			return nil, err
		}
		return json.Marshal(change(readReport(response), readEvent(payload)))
	})
}

// ask is a mutant that changes the function's calls of an operation.
func ask(operation string, change func(call map[string]any)) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isCall(r, operation) {
			return next.RoundTrip(r)
		}
		call := body(r)
		change(call)
		return next.RoundTrip(with(r, call))
	})
}

// eachEntry is a mutant that changes the entries of the function's calls of an operation.
func eachEntry(operation string, change func(entry map[string]any)) Mutant {
	return ask(operation, func(call map[string]any) {
		for _, e := range entries(call) {
			change(e)
		}
	})
}

func isCall(r *http.Request, operation string) bool {
	return r.Header.Get("X-Amz-Target") == "AmazonSQS."+operation
}

// confirmed is an answer by which every entry of a batch call succeeded.
func confirmed(r *http.Request) *http.Response {
	var answer struct{ Successful []any }
	for _, e := range entries(body(r)) {
		answer.Successful = append(answer.Successful, map[string]any{"Id": e["Id"]})
	}
	text, _ := encoded(answer)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: text, Request: r}
}

// decoded reads a body, and leaves it as it was.
func decoded(text *io.ReadCloser) (v map[string]any) {
	b, err := io.ReadAll(*text)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		panic(err)
	}
	*text = io.NopCloser(bytes.NewReader(b))
	return v
}

// encoded is a body, and its length.
func encoded(v any) (io.ReadCloser, int64) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return io.NopCloser(bytes.NewReader(b)), int64(len(b))
}

func body(r *http.Request) map[string]any { return decoded(&r.Body) }

func with(r *http.Request, call map[string]any) *http.Request {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = encoded(call)
	return r
}

func entries(call map[string]any) []map[string]any { return objects(call["Entries"]) }

func objects(of any) (list []map[string]any) {
	all, _ := of.([]any)
	for _, o := range all {
		list = append(list, o.(map[string]any))
	}
	return list
}

// request is one to SQS.
func request(ctx context.Context, operation string, call map[string]any) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sqs/", http.NoBody)
	if err != nil {
		panic(err)
	}
	r = with(r, call)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	return r
}

// tell makes a call whose answer does not matter.
func tell(connection http.RoundTripper, r *http.Request) {
	if response, err := connection.RoundTrip(r); err == nil {
		_ = response.Body.Close()
	}
}

// queueURL is that of a record's queue.
func queueURL(record map[string]any) string {
	arn := strings.Split(record["eventSourceARN"].(string), ":")
	return "http://sqs/" + arn[4] + "/" + arn[5]
}

// hide is a request that hides an event's records for a time.
func hide(ctx context.Context, e event, seconds int) *http.Request {
	var list []any
	for i, r := range e.Records[:min(10, len(e.Records))] {
		list = append(list, map[string]any{"Id": strconv.Itoa(i), "ReceiptHandle": r["receiptHandle"], "VisibilityTimeout": seconds})
	}
	return request(ctx, "ChangeMessageVisibilityBatch", map[string]any{"QueueUrl": queueURL(e.Records[0]), "Entries": list})
}

// onEvent is a mutant that changes the event.
func onEvent(change func(event) event) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		return next(ctx, change(readEvent(payload)).bytes())
	})
}

// afterwards is a mutant that does something before it answers, if records failed.
func afterwards(do func(context.Context, report)) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if r := readReport(response); len(r.BatchItemFailures) > 0 {
			do(ctx, r)
		}
		return response, err
	})
}

// visibility is a mutant that asks for another number of seconds.
func visibility(change func(seconds int) int) Mutant {
	return eachEntry("ChangeMessageVisibilityBatch", func(e map[string]any) {
		e["VisibilityTimeout"] = change(int(e["VisibilityTimeout"].(float64)))
	})
}

// incoming is a mutant that changes the attributes of the records of an event or a receive.
func incoming(change func(i int, attributes map[string]any)) Mutant {
	m := onEvent(func(e event) event {
		for i, r := range e.Records {
			change(i, r["attributes"].(map[string]any))
		}
		return e
	})
	m.Transport = received(func(answer map[string]any) {
		for i, r := range objects(answer["Messages"]) {
			change(i, r["Attributes"].(map[string]any))
		}
	}).Transport
	return m
}

// noGroups gives each record of an event or a receive a group of its own.
func noGroups() Mutant {
	return incoming(func(i int, attributes map[string]any) { attributes["MessageGroupId"] = string(rune('A' + i)) })
}

// oneByOne does not see groups either, and handles one record after another.
func oneByOne() Mutant {
	m := noGroups()
	m.Config = func(c *handler.Config) { c.Concurrency = 1 }
	return m
}

// deleteFirst deletes records before it sends them to the dead-letter queue.
func deleteFirst() Mutant {
	type place struct{ url, receipt string }
	var known sync.Map // by body
	m := onEvent(func(e event) event {
		for _, r := range e.Records {
			known.Store(r["body"], place{queueURL(r), r["receiptHandle"].(string)})
		}
		return e
	})
	m.Transport = wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if isCall(r, "SendMessageBatch") {
			for _, e := range entries(body(r)) {
				if v, ok := known.Load(e["MessageBody"]); ok {
					at := v.(place)
					tell(next, request(r.Context(), "DeleteMessage", map[string]any{"QueueUrl": at.url, "ReceiptHandle": at.receipt}))
				}
			}
		}
		return next.RoundTrip(r)
	}).Transport
	return m
}

// leftBehind never ends.
func leftBehind() { select {} }

// miscount adds one to every count.
type miscount struct{ slog.Handler }

func (m miscount) WithAttrs([]slog.Attr) slog.Handler { return m }

func (m miscount) Handle(ctx context.Context, r slog.Record) error {
	wrong := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindInt64 {
			a.Value = slog.Int64Value(a.Value.Int64() + 1)
		}
		wrong.AddAttrs(a)
		return true
	})
	return m.Handler.Handle(ctx, wrong)
}

// wrap is a mutant of the handler.
func wrap(handle func(ctx context.Context, r batch.Record, next batch.Handler) error) Mutant {
	return Mutant{Handler: around(handle)}
}

// around is middleware.
func around(handle func(ctx context.Context, r batch.Record, next batch.Handler) error) func(batch.Handler) batch.Handler {
	return func(next batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return handle(ctx, r, next) })
	}
}

// showsAbandoned makes a record visible as soon as its handler was given up.
type showsAbandoned struct{ client *awssqs.Client }

func (s showsAbandoned) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	for _, r := range results {
		if r.Outcome == batch.Abandoned {
			arn := strings.Split(b.QueueARN, ":")
			_, _ = s.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{
				QueueUrl: aws.String("http://sqs/" + arn[4] + "/" + arn[5]), ReceiptHandle: &r.Record.ReceiptHandle})
		}
	}
}

// poller is one with other methods.
type poller struct {
	Poller
	env           *environment
	run, shutdown func(context.Context) error
	pause         func()
}

func (p *poller) Run(ctx context.Context) error      { return p.run(ctx) }
func (p *poller) Shutdown(ctx context.Context) error { return p.shutdown(ctx) }
func (p *poller) Pause()                             { p.pause() }

// pollers is a mutant of the poller.
func pollers(change func(*poller)) Mutant {
	return Mutant{Poller: func(next Poller, env *environment) Poller {
		p := &poller{Poller: next, env: env, run: next.Run, shutdown: next.Shutdown, pause: next.Pause}
		change(p)
		return p
	}}
}

// received is a mutant that changes what receives bring.
func received(change func(answer map[string]any)) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK || !isCall(r, "ReceiveMessage") {
			return response, err
		}
		answer := decoded(&response.Body)
		change(answer)
		response.Body, response.ContentLength = encoded(answer)
		response.Header.Del("Content-Length")
		return response, nil
	})
}

// confirm is a mutant that answers some calls by itself.
func confirm(which func(*http.Request) bool) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if which(r) {
			return confirmed(r), nil
		}
		return next.RoundTrip(r)
	})
}

// extends reports whether a call hides records for longer, as extensions and backoffs do.
func extends(r *http.Request) bool {
	return isCall(r, "ChangeMessageVisibilityBatch") && entries(body(r))[0]["VisibilityTimeout"].(float64) > 0
}

// repeat is a mutant that makes calls of an operation once more, some time after each.
func repeat(operation string, after time.Duration) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if isCall(r, operation) {
			late := with(r, body(r)).WithContext(context.WithoutCancel(r.Context()))
			time.AfterFunc(after, func() { tell(next, late) })
		}
		return next.RoundTrip(r)
	})
}

// onAbort is a mutant that takes another error for an abort. What its handler said is noted before.
func onAbort(change func(after time.Duration, err error) error) Mutant {
	return wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if v := batch.VerdictOf(err); v.Aborts {
			return fmt.Errorf("changed: %w", change(v.After, err))
		}
		return err
	})
}

// whileBlocked answers some calls by itself while a hook blocks.
func whileBlocked(which func(*http.Request) bool) Mutant {
	return Mutant{Transport: func(next http.RoundTripper) http.RoundTripper {
		env := next.(*connection).env
		return confirm(func(r *http.Request) bool { return env.blocked.Load() > 0 && which(r) }).Transport(next)
	}}
}

// awaitHooks waits until no hook blocks, for longer than anyone may.
func (e *environment) awaitHooks() {
	for range 200 {
		if e.blocked.Load() > 0 {
			time.Sleep(time.Second)
		}
	}
}

func guarded(handle func(ctx context.Context, r batch.Record, next batch.Handler) error) Mutant {
	return Mutant{Guard: around(handle)}
}

// unfenced is a store that does not check whose a claim is: a late failure removes
// the completion of the worker that has taken over.
func unfenced(next idempotency.Store) idempotency.Store {
	var owners, forgotten sync.Map // by key
	return &random.Around{Store: next, Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
		owner, _ := owners.Load(c.Key)
		text, _ := owner.(string)
		switch c.Operation {
		case "Complete":
			return idempotency.Found{}, next.Complete(ctx, c.Key, text, c.Completion)
		case "Release":
			forgotten.Store(c.Key, true)
			return idempotency.Found{}, next.Release(ctx, c.Key, text)
		case "Renew":
			return do(ctx)
		}
		found, err := do(ctx)
		_, was := forgotten.LoadAndDelete(c.Key)
		switch {
		case found.State == idempotency.Claimed:
			owners.Store(c.Key, c.Owner)
		case found.State == idempotency.Completed && was:
			found.State = idempotency.Claimed
		}
		return found, err
	}}
}

// claims is a mutant whose store takes claims in its own way.
func claims(claim func(ctx context.Context, next idempotency.Store, c idempotency.Claim) (idempotency.Found, error)) Mutant {
	return Mutant{Store: func(next idempotency.Store) idempotency.Store { return claimer{next, claim} }}
}

type claimer struct {
	idempotency.Store
	claim func(context.Context, idempotency.Store, idempotency.Claim) (idempotency.Found, error)
}

func (s claimer) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	return s.claim(ctx, s.Store, c)
}
