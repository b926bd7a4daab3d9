package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// pollMutants are those of the long-poll mode.
var pollMutants = []mutantCase{
	{"deletes what it receives", DeletedOnlyWhenDone, wire(deleteAtOnce)},
	{"takes failures for successes", DeletedOnlyWhenDone, wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		_ = next.Handle(ctx, r)
		return nil
	})},
	{"drops what belongs into the dead-letter queue", DeletedOnlyWhenDone, Mutant{Poll: func(c *longpoll.Config) { c.Failures.OnPermanent = partialfailure.Drop }}},
	{"forgets the attributes of messages", Kept, answers("ReceiveMessage", func(answer map[string]any) {
		for _, m := range messagesOf(answer) {
			delete(m, "MessageAttributes")
			delete(m, "MD5OfMessageAttributes")
		}
	})},
	{"never deletes", Final, confirm(func(r *http.Request) bool { return isCall(r, "DeleteMessageBatch") })},
	{"takes a group's records in the wrong order", Ordered, answers("ReceiveMessage", func(answer map[string]any) {
		if list, ok := answer["Messages"].([]any); ok {
			slices.Reverse(list)
		}
	})},
	{"does not see groups", Ordered, answers("ReceiveMessage", func(answer map[string]any) {
		for i, m := range messagesOf(answer) {
			attributes := m["Attributes"].(map[string]any)
			attributes["MessageGroupId"] = string(rune('A' + i))
		}
	})},
	{"takes every attempt for the first", Counted, answers("ReceiveMessage", func(answer map[string]any) {
		for _, m := range messagesOf(answer) {
			m["Attributes"].(map[string]any)["ApproximateReceiveCount"] = "1"
		}
	})},
	{"polls short", Frugal, ask("ReceiveMessage", func(call map[string]any) {
		if wait, _ := call["WaitTimeSeconds"].(float64); wait > 1 {
			call["WaitTimeSeconds"] = 1
		}
	})},
	{"calls after it has stopped", Frugal, wire(callLater)},
	{"extends all the time", Frugal, wire(extendMore)},
	{"is stuck: nothing is ever started", Drained, wrap(func(ctx context.Context, _ batch.Record, _ batch.Handler) error {
		return context.Canceled
	})},
	{"leaves a goroutine behind", Drained, pollers(func(p *poller) {
		p.run = func(ctx context.Context) error {
			go leftBehind()
			return p.Poller.Run(ctx)
		}
	})},
	{"handles every record twice", Once, wrap(func(ctx context.Context, r batch.Record, next batch.Handler) error {
		_ = next.Handle(ctx, r)
		return next.Handle(ctx, r)
	})},
	{"tells its hooks twice", Once, Mutant{Poll: func(c *longpoll.Config) { c.Engine.Hooks = append(c.Engine.Hooks, c.Engine.Hooks[0]) }}},
	{"does not know the last attempt", Spared, Mutant{Poll: func(c *longpoll.Config) { c.Failures.MaxReceiveCount = 1000 }}},
	{"shows what it abandoned at once", Alone, Mutant{Poll: func(c *longpoll.Config) { c.Engine.Hooks = append(c.Engine.Hooks, showsAbandoned{c.SQS}) }}},
	{"has another backoff than is configured", Spaced, Mutant{Poll: func(c *longpoll.Config) {
		c.Failures.Outage, c.Failures.Backoff = 0, partialfailure.Constant(time.Second)
	}}},
	{"says that a dead letter was another message", Explained, ask("SendMessageBatch", swapOrigin)},
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
	{"ends its long polls when they are answered", Swift, wire(patient)},
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
		if !c.NoHeartbeat { // it would be refused
			c.Engine.RecordTimeout = min(2*max(c.Engine.RecordTimeout, 15*time.Minute), 11*time.Hour)
		}
	}}},
}

func TestPollMutants(t *testing.T) {
	catch(t, slices.Concat(pollMutants, bothMutants, abortMutants, pollAbortMutants, breakMutants, pollHookMutants, keyMutants), PollInvariants, Plan.Polls)
}

// wrap is a mutant of the handler.
func wrap(handle func(ctx context.Context, r batch.Record, next batch.Handler) error) Mutant {
	return Mutant{Handler: func(next batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return handle(ctx, r, next) })
	}}
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

// answers is a mutant that changes SQS's answers.
func answers(operation string, change func(answer map[string]any)) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK || !isCall(r, operation) {
			return response, err
		}
		answer := answerOf(response)
		change(answer)
		b, err := json.Marshal(answer)
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		response.Header.Del("Content-Length")
		return response, err
	})
}

// answerOf reads an answer, and leaves it as it was.
func answerOf(response *http.Response) (answer map[string]any) {
	b, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(b, &answer)
	}
	if err != nil {
		panic(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(b))
	return answer
}

func messagesOf(answer map[string]any) (list []map[string]any) {
	messages, _ := answer["Messages"].([]any)
	for _, m := range messages {
		list = append(list, m.(map[string]any))
	}
	return list
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

// extends reports whether a call hides records for longer, as extensions and
// backoffs do, and does not release them.
func extends(r *http.Request) bool {
	return isCall(r, "ChangeMessageVisibilityBatch") && entries(body(r))[0]["VisibilityTimeout"].(float64) > 0
}

// deleteAtOnce deletes what a receive returns.
func deleteAtOnce(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	url := body(r)["QueueUrl"]
	response, err := next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK && isCall(r, "ReceiveMessage") {
		for _, m := range messagesOf(answerOf(response)) {
			tell(next, request(r.Context(), "DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": m["ReceiptHandle"]}))
		}
	}
	return response, err
}

// callLater makes a call a minute after each.
func callLater(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if isCall(r, "DeleteMessageBatch") {
		late := with(r, body(r)).WithContext(context.WithoutCancel(r.Context()))
		time.AfterFunc(time.Minute, func() { tell(next, late) })
	}
	return next.RoundTrip(r)
}

// extendMore makes every extension twenty times.
func extendMore(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if extends(r) {
		for range 20 {
			tell(next, with(r, body(r)))
		}
	}
	return next.RoundTrip(r)
}

// patient does not end a receive that was begun.
func patient(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if isCall(r, "ReceiveMessage") {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	return next.RoundTrip(r)
}
