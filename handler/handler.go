package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler/internal/sqsevent"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// LambdaHandler handles the invocations of a Lambda function by an SQS event source mapping.
// Make one with [New]. It is safe for concurrent use.
type LambdaHandler struct {
	names  Queues // empty if one handler is for all queues
	queues []*queueHandler
	other  lambda.Handler
}

// queueHandler handles the batches of one queue.
type queueHandler struct {
	engine  *runner.Engine // its first hook is the log
	policy  *settle.Policy
	cfg     Config
	flushes bool // a configured hook has Flush; the log buffers nothing here
}

// New returns a handler that passes each record to h. It returns an error that names every
// field or environment variable whose value is out of its bounds. It makes no call to AWS.
// Nor does an invocation in which all records succeed, unless two of them or more are at their
// third attempt or later: https://github.com/sqsbatch/sqsbatch/blob/main/docs/failures.md#a-message-that-kills-its-process.
func New(h batch.Handler, cfg Config) (*LambdaHandler, error) {
	lines, warnings, wrong := cfg.setUp(lambdaLogger, 0)
	flushes := cfg.Hooks.Flush != nil
	// The log comes first, so that it can warn of a hook that blocks the others.
	cfg.Hooks = batch.JoinHooks(lines, cfg.Hooks)
	l := &LambdaHandler{other: cfg.Other}
	queues, badQueues := cfg.split(h, nil)
	wrong.add(badQueues)
	if _, several := h.(Queues); several {
		l.names = queues
	} else {
		queues = Queues{{Handler: h}}
	}
	var slots *runner.Slots // of all invocations that the process runs at once
	if cfg.Concurrency > 0 {
		slots = runner.NewSlots(cfg.Concurrency)
	}
	for _, q := range queues {
		own, err := cfg.of(q)
		wrong.add(err)
		if err == nil && badQueues == nil {
			l.queues = append(l.queues, own.queueHandler(q, slots, flushes))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	cfg.warn(context.Background(), warnings)
	return l, nil
}

// queueHandler returns the handler of a queue. c is the queue's own configuration.
func (c *Config) queueHandler(q Queue, slots *runner.Slots, flushes bool) *queueHandler {
	set := hooks.New(c.Hooks)
	engine := runner.New(q.Handler, c.engine(q), set)
	engine.Slots, engine.Priority = slots, q.Priority
	settling := c.settling(set)
	if c.samLocal() {
		settling = withoutSQS(settling)
	}
	return &queueHandler{engine: engine, policy: settle.New(settling), cfg: *c, flushes: flushes}
}

// Invoke handles one invocation. It takes the event and returns the response, both in JSON, so
// that a LambdaHandler is a lambda.Handler of aws-lambda-go.
//
// An event that is not from SQS goes to [Config].Other. Invoke returns an error if there is
// no Other, or if the event has a record that could not be reported as failed. Lambda then
// counts the invocation as failed and keeps every message.
func (l *LambdaHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	records, err := sqsevent.Decode(payload)
	if err != nil {
		if l.other != nil && isOther(payload) {
			return l.other.Invoke(ctx, payload)
		}
		return nil, invalidEvent{fmt.Errorf("the event is not from an SQS event source mapping: %w", err)}
	}
	if len(records) == 0 {
		response, _ := sqsevent.Response(nil)
		return response, nil
	}
	i := 0
	if arn := records[0].QueueARN; len(l.names) > 0 {
		if i = l.names.find(arn); i < 0 {
			return nil, noQueue(arn)
		}
	}
	return l.queues[i].process(ctx, records)
}

// isOther reports whether a payload is JSON without a record from SQS.
func isOther(payload []byte) bool {
	var event struct {
		Records []struct{ EventSource string }
	}
	if !json.Valid(payload) {
		return false
	}
	_ = json.Unmarshal(payload, &event) // an event of another shape has no Records
	return !slices.ContainsFunc(event.Records, func(r struct{ EventSource string }) bool { return r.EventSource == "aws:sqs" })
}

// HandleEvent handles a decoded event, for a Lambda handler of your own. It encodes the event
// again and calls Invoke, so Invoke is faster.
func (l *LambdaHandler) HandleEvent(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return response, err
	}
	answer, err := l.Invoke(ctx, payload)
	if err != nil {
		return response, err
	}
	err = json.Unmarshal(answer, &response)
	return response, err
}

// process runs a batch, settles it, and returns the response that reports the failed records.
func (q *queueHandler) process(ctx context.Context, records []batch.Record) ([]byte, error) {
	ctx = context.WithValue(ctx, ctxkey.Client{}, q.policy)
	times := q.engine.Times(ctx)
	info := batch.BatchInfo{
		Records: len(records), QueueARN: records[0].QueueARN, Started: time.Now(),
		Deadline: times.Deadline, Cutoff: times.Cutoff, SettleBy: times.SettleBy,
	}
	set := q.engine.Hooks
	if set.Batches {
		own := ctx
		hooks.Within(nil, func() { own = set.BatchContext(own, info, records) }) // on a goroutine that a hook may end
		ctx = own
	}
	settlement := q.policy.Begin(ctx, records, times.SettleBy)
	results := q.engine.Run(ctx, records, settlement.Options(times))
	settlement.Settle(results)
	response, failed := sqsevent.Response(results)
	someDone := slices.ContainsFunc(results, func(r batch.Result) bool { return r.Outcome.Done() || r.Outcome == batch.InProgress })
	fail := failed > 0 && (q.cfg.NoReportBatchItemFailures || q.cfg.ErrorIfAllFail && !someDone)
	q.notify(ctx, info, func() { // from here on, the hooks own the results
		defer set.BatchSettled(ctx, info, results) // even if a hook ends the goroutine
		settlement.AwaitHooks()
		if q.cfg.samLocal() {
			q.warnWouldBe(ctx, info, results)
		}
	})
	if q.flushes {
		q.flush(ctx, times)
	}
	if fail {
		return nil, &FailedError{Failed: failed, Records: len(records)}
	}
	return response, nil
}

// invalidEvent has this name because Lambda shows an error's type to users, as errorType.
type invalidEvent struct{ error }

// FailedError is returned when records failed and the configuration asks for an error
// instead of a report: [Config.ErrorIfAllFail] or [Config.NoReportBatchItemFailures].
type FailedError struct{ Failed, Records int }

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of %d records failed, see the log for each", e.Failed, e.Records)
}
