package simulate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/random"
)

type mutantCase struct {
	name   string
	caught Invariant
	mutant Mutant
}

// mixesUp is the mutant that takes many invocations at a time.
const mixesUp = "mixes up the answers of many invocations"

// bothMutants are for both modes. Each breaks one thing, which the invariant has to see.
var bothMutants = []mutantCase{
	{"changes the body of dead letters", Kept, eachEntry("SendMessageBatch", func(e map[string]any) { e["MessageBody"] = e["MessageBody"].(string) + " " })},
	{"forgets the trace header of dead letters", Kept, eachEntry("SendMessageBatch", func(e map[string]any) { delete(e, "MessageSystemAttributes") })},
	{"asks for more than 12 hours", Bounded, visibility(func(int) int { return 43_201 })},
	{"asks for 12 hours from now, not from the receipt", Bounded, visibility(func(int) int { return 43_200 })},
	{"calls again forever when SQS fails", Frugal, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		call := body(r)
		for range 100 {
			response, err := next.RoundTrip(with(r, call))
			if err == nil && response.StatusCode == http.StatusOK || r.Context().Err() != nil {
				return response, err
			}
		}
		return next.RoundTrip(r)
	})},
	{"has failures come back at once", Spaced, visibility(func(int) int { return 0 })},
	{"counts the backoff in half seconds", Spaced, visibility(func(s int) int { return s / 2 })},
	{"sends dead letters twice", Single, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if isCall(r, "SendMessageBatch") {
			call := body(r)
			for _, e := range entries(call) {
				if _, fifo := e["MessageDeduplicationId"]; fifo {
					e["MessageDeduplicationId"] = "another"
				}
			}
			tell(next, with(r, call))
		}
		return next.RoundTrip(r)
	})},
	{"hides what was skipped for longer than what failed", Together, ask("ChangeMessageVisibilityBatch", func(call map[string]any) {
		for _, e := range entries(call)[1:] {
			e["VisibilityTimeout"] = e["VisibilityTimeout"].(float64) + 7
		}
	})},
	{"drops what belongs into the dead-letter queue", DeletedOnlyWhenDone, Mutant{Config: func(c *handler.Config) { c.Failures.OnPermanent = partialfailure.Drop }}},
	{"has another backoff than is configured", Spaced, Mutant{Config: func(c *handler.Config) {
		c.Failures.Outage, c.Failures.Backoff = 0, func(int) time.Duration { return time.Second }
	}}},
	{"does not know the last attempt", Spared, Mutant{Config: func(c *handler.Config) { c.Failures.MaxReceiveCount = 1000 }}},
	{"answers its visibility calls by itself", VisibilitySet, confirm(func(r *http.Request) bool { return isCall(r, "ChangeMessageVisibilityBatch") })},

	{"does not see groups", Ordered, noGroups()},
	{"takes every attempt for the first", Counted, incoming(func(_ int, attributes map[string]any) { attributes["ApproximateReceiveCount"] = "1" })},
	{"handles every record twice", Once, wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		_ = next.Handle(ctx, r)
		return next.Handle(ctx, r)
	})},
	{"leaves a goroutine behind", Drained, wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		go leftBehind()
		return next.Handle(ctx, r)
	})},

	// What batch.Abort promises.
	{"starts the rest after an abort", Heeded, onAbort(func(after time.Duration, err error) error { return batch.RetryAfter(after, errors.Unwrap(err)) })},
	{"releases at once after an abort", Heeded, visibility(func(s int) int { return min(s, 1) })},
	{"puts off for longer than an abort says", Heeded, visibility(func(s int) int { return s + 3 })},
	{"puts off for half the time", Heeded, onAbort(func(after time.Duration, err error) error { return batch.Abort(after/2, errors.Unwrap(err)) })},

	// What holds when calls break or are refused as a whole.
	{"gives up where SQS refuses a call as a whole", Divided, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		list, _ := body(r)["Entries"].([]any)
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusBadRequest && len(list) > 1 {
			response.Body = io.NopCloser(bytes.NewReader([]byte(`{"__type":"com.amazonaws.sqs#AccessDenied"}`)))
		}
		return response, err
	})},
	{"takes a connection that ends for a success", VisibilitySet, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		again := with(r, body(r))
		response, err := next.RoundTrip(r)
		if errors.Is(err, syscall.ECONNRESET) && isCall(r, "ChangeMessageVisibilityBatch") {
			return confirmed(again), nil
		}
		return response, err
	})},

	// What package idempotency promises.
	{"completes and releases for anyone", WorkOnce, Mutant{Store: unfenced}},
	{"ignores claims", WorkAlone, claims(func(ctx context.Context, next idempotency.Store, c idempotency.Claim) (idempotency.Found, error) {
		found, err := next.Claim(ctx, c)
		if found.State == idempotency.InProgress {
			found.State = idempotency.Claimed
		}
		return found, err
	})},
	{"claims for less than it says", WorkAlone, claims(func(ctx context.Context, next idempotency.Store, c idempotency.Claim) (idempotency.Found, error) {
		c.Lease = min(c.Lease/10, 10*time.Millisecond)
		return next.Claim(ctx, c)
	})},
	{"completes before the function has returned", WorkKept, claims(func(ctx context.Context, next idempotency.Store, c idempotency.Claim) (idempotency.Found, error) {
		found, err := next.Claim(ctx, c)
		if err == nil && found.State == idempotency.Claimed {
			err = next.Complete(ctx, c.Key, c.Owner, idempotency.Completion{Remember: c.Remember})
		}
		return found, err
	})},
	{"takes work in progress for a success", WorkKept, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if batch.VerdictOf(err).Outcome == batch.InProgress {
			return nil
		}
		return err
	})},
	{"takes work in progress for a failure", Blameless, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		err := next.Handle(ctx, r)
		if batch.VerdictOf(err).Outcome == batch.InProgress {
			return errors.New("the work is in progress")
		}
		return err
	})},
	{"does not wait at the last attempt", Blameless, guarded(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		return next.Handle(context.WithValue(ctx, ctxkey.Runner{}, nil), r)
	})},
}

// mutants are those of Lambda.
var mutants = []mutantCase{
	{"reports nothing though records failed", DeletedOnlyWhenDone, respond(func(report, event) report {
		return report{BatchItemFailures: []failure{}}
	})},
	{"leaves the first failure out of the response", DeletedOnlyWhenDone, respond(func(r report, _ event) report {
		return report{BatchItemFailures: r.BatchItemFailures[min(1, len(r.BatchItemFailures)):]}
	})},
	{"swallows a record", DeletedOnlyWhenDone, onEvent(func(e event) event {
		return event{e.Records[:max(1, len(e.Records)-1)]}
	})},
	{"deletes before it sends to the dead-letter queue", DeletedOnlyWhenDone, deleteFirst()},
	{"forgets the attributes of dead letters", Kept, eachEntry("SendMessageBatch", func(e map[string]any) { delete(e, "MessageAttributes") })},
	{"reports a success as failed", Final, respond(func(r report, e event) report {
		first := e.failures()[0]
		if !slices.Contains(r.BatchItemFailures, first) {
			r.BatchItemFailures = slices.Insert(r.BatchItemFailures, 0, first)
		}
		return r
	})},
	{"reports every record when one failed", Final, respond(func(r report, e event) report {
		if len(r.BatchItemFailures) > 0 {
			r.BatchItemFailures = e.failures()
		}
		return r
	})},
	{"goes on with a group after a failure", Ordered, oneByOne()},
	{"takes a group's records in the wrong order", Ordered, onEvent(func(e event) event {
		slices.Reverse(e.Records)
		return e
	})},
	{"answers after its deadline", Punctual, afterwards(func(ctx context.Context, _ report) {
		deadline, _ := ctx.Deadline()
		time.Sleep(time.Until(deadline) + time.Millisecond)
	})},
	{"leaves nothing for the response", Punctual, afterwards(func(ctx context.Context, _ report) {
		deadline, _ := ctx.Deadline()
		time.Sleep(time.Until(deadline) - time.Millisecond)
	})},
	{"panics", Punctual, afterwards(func(context.Context, report) { panic("out of memory") })},
	{"asks for a negative visibility", Bounded, visibility(func(int) int { return -1 })},
	{"takes its time", Prompt, afterwards(func(context.Context, report) { time.Sleep(20 * time.Millisecond) })},
	{"goes on calling SQS after the response", Frugal, invoking(func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
		late := hide(context.WithoutCancel(ctx), readEvent(payload), 30)
		time.AfterFunc(time.Minute, func() { tell(connection, late) })
		return next(ctx, payload)
	})},
	{"sends heartbeats", Frugal, invoking(func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
		handled, over := context.WithCancel(ctx)
		defer over()
		go func() {
			for sleep.For(handled, 100*time.Millisecond) {
				tell(connection, hide(handled, readEvent(payload), 30))
			}
		}()
		return next(ctx, payload)
	})},
	{"makes a call for each record", Frugal, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isCall(r, "ChangeMessageVisibilityBatch") {
			return next.RoundTrip(r)
		}
		call := body(r)
		for _, e := range entries(call) {
			call["Entries"] = []any{e}
			tell(next, with(r, call))
		}
		return confirmed(r), nil
	})},
	{"is stuck: nothing is ever started", Drained, Mutant{Config: func(c *handler.Config) { c.MinRemaining = 12 * time.Hour }}},
	{"reports in another order", Once, respond(func(r report, _ event) report {
		slices.Reverse(r.BatchItemFailures)
		return r
	})},
	{"fails where it should report", Once, Mutant{Config: func(c *handler.Config) { c.ErrorIfAllFail = !c.ErrorIfAllFail }}},
	{"swallows its error", Once, invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		var failed *handler.FailedError
		if errors.As(err, &failed) {
			return []byte(`{}`), nil
		}
		return response, err
	})},
	{"tells its hooks twice", Once, Mutant{Config: func(c *handler.Config) {
		c.Hooks = batch.JoinHooks(c.Hooks, batch.Hooks{RecordFinished: c.Hooks.RecordFinished, BatchSettled: c.Hooks.BatchSettled})
	}}},
	{"hides what was not started", Together, visibility(func(s int) int { return max(s, 30) })},
	{"does not say where a dead letter came from", Explained, eachEntry("SendMessageBatch", func(entry map[string]any) {
		attributes, _ := entry["MessageAttributes"].(map[string]any)
		delete(attributes, partialfailure.OriginAttribute)
	})},
	{"shows what failed at once, abandoned or not", Alone, invoking(func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if err == nil && len(readReport(response).BatchItemFailures) > 0 {
			tell(connection, hide(context.WithoutCancel(ctx), readEvent(payload), 0))
		}
		return response, err
	})},
	{"has a slot too many", WithinCapacity, Mutant{Config: func(c *handler.Config) { c.Concurrency = 3*max(c.Concurrency, 10) + 1 }}},
	{"has as many slots as it likes for all invocations", WithinCapacity, Mutant{Config: func(c *handler.Config) {
		if c.Concurrency > 0 {
			c.Concurrency = 0
		}
	}}},
	{"forgets its record timeout", Limited, Mutant{Config: func(c *handler.Config) { c.RecordTimeout = 0 }}},
	{"reserves little", Limited, Mutant{Config: func(c *handler.Config) { c.Reserve = 2 * time.Millisecond }}},
	{"has another grace", Limited, Mutant{Config: func(c *handler.Config) { c.Grace = time.Microsecond }}},
	{"logs a wrong count", Once, Mutant{Config: func(c *handler.Config) {
		c.Logger = slog.New(miscount{c.Logger.Handler()})
	}}},

	// While hooks block or many invocations overlap.
	{"waits for hooks that block", Punctual, invoking(func(ctx context.Context, payload []byte, next Invoke, way http.RoundTripper) ([]byte, error) {
		defer way.(*connection).env.awaitHooks()
		return next(ctx, payload)
	})},
	{mixesUp, Once, Mutant{Invoke: func(next Invoke, _ http.RoundTripper) Invoke {
		var under atomic.Int64
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			many := under.Add(1) > 32
			defer under.Add(-1)
			response, err := next(ctx, payload)
			if many && err == nil {
				response = []byte(`{"batchItemFailures":[]}`)
			}
			return response, err
		}
	}}},
}

// pollMutants are those of the long-poll mode.
var pollMutants = []mutantCase{
	{"deletes what it receives", DeletedOnlyWhenDone, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		url := body(r)["QueueUrl"]
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK && isCall(r, "ReceiveMessage") {
			for _, m := range objects(decoded(&response.Body)["Messages"]) {
				tell(next, request(r.Context(), "DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": m["ReceiptHandle"]}))
			}
		}
		return response, err
	})},
	{"takes failures for successes", DeletedOnlyWhenDone, wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		_ = next.Handle(ctx, r)
		return nil
	})},
	{"forgets the attributes of messages", Kept, received(func(answer map[string]any) {
		for _, m := range objects(answer["Messages"]) {
			delete(m, "MessageAttributes")
			delete(m, "MD5OfMessageAttributes")
		}
	})},
	{"never deletes", Final, confirm(func(r *http.Request) bool { return isCall(r, "DeleteMessageBatch") })},
	{"takes a group's records in the wrong order", Ordered, received(func(answer map[string]any) {
		list, _ := answer["Messages"].([]any)
		slices.Reverse(list)
	})},
	{"polls short", Frugal, ask("ReceiveMessage", func(call map[string]any) {
		if wait, _ := call["WaitTimeSeconds"].(float64); wait > 1 {
			call["WaitTimeSeconds"] = 1
		}
	})},
	{"calls after it has stopped", Frugal, repeat("DeleteMessageBatch", time.Minute)},
	{"extends all the time", Frugal, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if extends(r) {
			for range 20 {
				tell(next, with(r, body(r)))
			}
		}
		return next.RoundTrip(r)
	})},
	{"is stuck: nothing is ever started", Drained, wrap(func(ctx context.Context, _ batch.Record, _ batch.Handler) error {
		return context.Canceled
	})},
	{"tells its hooks twice", Once, Mutant{Poll: func(c *longpoll.Config) {
		c.Hooks = batch.JoinHooks(c.Hooks, batch.Hooks{RecordFinished: c.Hooks.RecordFinished, BatchSettled: c.Hooks.BatchSettled})
	}}},
	{"shows what it abandoned at once", Alone, Mutant{Poll: func(c *longpoll.Config) {
		c.Hooks = batch.JoinHooks(c.Hooks, batch.Hooks{BatchSettled: showsAbandoned{c.SQS}.BatchSettled})
	}}},
	{"says that a dead letter was another message", Explained, eachEntry("SendMessageBatch", func(entry map[string]any) {
		attributes, _ := entry["MessageAttributes"].(map[string]any)
		if attributes[partialfailure.OriginAttribute] != nil {
			attributes[partialfailure.OriginAttribute] = map[string]any{"DataType": "String", "StringValue": `{"v":1,"messageId":"another"}`}
		}
	})},
	{"extends nothing", Hidden, confirm(extends)},
	{"extends too late", Hidden, ask("ReceiveMessage", func(call map[string]any) { call["VisibilityTimeout"] = 3 })},
	{"has a slot too many", WithinCapacity, Mutant{Poll: func(c *longpoll.Config) { c.Engine.Concurrency = 2*max(c.Engine.Concurrency, 10) + 1 }}},
	{"prefetches more than it may", WithinCapacity, Mutant{Poll: func(c *longpoll.Config) {
		if c.Prefetch = 50; c.Engine.Concurrency == 0 {
			c.Engine.Concurrency = 10
		}
	}}},
	{"releases nothing", Freed, confirm(func(r *http.Request) bool {
		return isCall(r, "ChangeMessageVisibilityBatch") && !extends(r)
	})},
	{"drains for longer than it may", Swift, Mutant{Poll: func(c *longpoll.Config) {
		c.DrainLimit, c.Engine.RecordTimeout = 10*time.Minute, 0
	}}},
	{"ends its long polls when they are answered", Swift, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if isCall(r, "ReceiveMessage") {
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		return next.RoundTrip(r)
	})},
	{"does not hear that it shall stop", Swift, pollers(func(p *poller) {
		p.shutdown = func(ctx context.Context) error {
			time.Sleep(time.Minute)
			return p.Poller.Shutdown(ctx)
		}
	})},
	{"pauses late", Quiet, pollers(func(p *poller) {
		p.pause = func() { time.AfterFunc(500*time.Millisecond, p.Poller.Pause) }
	})},
	{"gives handlers twice the time", Limited, Mutant{Poll: func(c *longpoll.Config) {
		c.Engine.RecordTimeout = min(2*max(c.Engine.RecordTimeout, 15*time.Minute), 11*time.Hour)
	}}},

	// After an abort.
	{"goes on receiving", Heeded, repeat("ReceiveMessage", time.Second)},
	{"gives back what waits for an abort of no time", Heeded, onAbort(func(after time.Duration, err error) error {
		return batch.Abort(max(after, time.Millisecond), errors.Unwrap(err))
	})},

	// While hooks block.
	{"extends nothing while a hook blocks", Hidden, whileBlocked(extends)},
	{"deletes nothing while a hook blocks", Final, whileBlocked(func(r *http.Request) bool { return isCall(r, "DeleteMessageBatch") })},
	{"waits for hooks that block", Swift, pollers(func(p *poller) {
		p.run = func(ctx context.Context) error {
			defer p.env.awaitHooks()
			return p.Poller.Run(ctx)
		}
	})},
}

// within is how many histories it may take to catch a mutant.
const within = 6000

// Every mutant is caught by the invariant that it breaks.
func TestMutants(t *testing.T) {
	catch(t, slices.Concat(mutants, bothMutants), Invariants, func(p Plan) bool { return !p.Polls() })
}

func TestPollMutants(t *testing.T) {
	catch(t, slices.Concat(pollMutants, bothMutants), PollInvariants, Plan.Polls)
}

// catch runs mutants through the plans of a mode.
func catch(t *testing.T, list []mutantCase, invariants []Invariant, mode func(Plan) bool) {
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			random.Catch(t, within, func(t *testing.T, seed uint64) string {
				p := Generate(seed)
				if !mode(p) || len(p.Messages) > 60 != (m.name == mixesUp) { // large ones take long, and most show no more
					return ""
				}
				return shows(t, p, m.mutant, m.caught)
			})
		})
	}
	for _, i := range invariants {
		if !slices.ContainsFunc(list, func(m mutantCase) bool { return m.caught == i }) {
			t.Errorf("no mutant breaks %q", i)
		}
	}
}

// shows carries out a plan, and says how it violates an invariant; "" if it does not.
func shows(t *testing.T, p Plan, m Mutant, i Invariant) string {
	h, err := RunInBubble(t, p, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Check(h) {
		if v.Invariant == i {
			return v.Text
		}
	}
	return ""
}
