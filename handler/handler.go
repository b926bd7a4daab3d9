package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler/internal/sqsevent"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// LambdaHandler handles the invocations of a Lambda function by an SQS event
// source mapping. It is safe for concurrent invocations.
type LambdaHandler struct {
	engine  *runner.Engine // with the log as its first hook
	policy  *settle.Policy
	cfg     Config
	flushes bool // a configured hook does; the log keeps nothing back here
}

// New returns a handler that passes each record to h. It returns an error that
// names every field or environment variable whose value is out of its bounds.
// No call is made to AWS, then or on the first invocation that goes well.
func New(h batch.Handler, cfg Config) (*LambdaHandler, error) {
	lines, warnings, badConfig := cfg.setUp(lambdaLogger, 0)
	configured, badHooks := hooks.New(cfg.Hooks...)
	if badHooks != nil {
		cfg.Hooks = nil // each error about a hook once, with the configuration's index
	}
	// The log comes first, so that it warns of the hook that blocks the others.
	cfg.Hooks = append([]any{lines}, cfg.Hooks...)
	set, _ := hooks.New(cfg.Hooks...)
	engine, badEngine := runner.New(h, cfg.engine())
	settling := cfg.settling(set)
	if cfg.samLocal() {
		settling = withoutSQS(settling)
	}
	policy, badPolicy := settle.New(settling)
	if err := errors.Join(badConfig, badEngine, badHooks, badPolicy); err != nil {
		return nil, err
	}
	cfg.warn(context.Background(), warnings)
	return &LambdaHandler{engine: engine, policy: policy, cfg: cfg, flushes: configured.Flushes}, nil
}

// Invoke handles one invocation, from the event's bytes to those of the
// response. It makes a LambdaHandler a lambda.Handler of aws-lambda-go.
//
// What is no SQS event goes to [Config].Other. Without that, and when the event has a
// record that could not be reported as failed, Invoke returns an error, so that Lambda
// counts the invocation as failed and keeps every message.
func (l *LambdaHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	records, err := sqsevent.Decode(payload)
	if err != nil {
		if l.cfg.Other != nil && isOther(payload) {
			return l.cfg.Other.Invoke(ctx, payload)
		}
		return nil, invalidEvent{fmt.Errorf("the event is not one of an SQS event source mapping: %w", err)}
	}
	failures, err := l.process(ctx, records)
	if err != nil {
		return nil, err
	}
	return partialfailure.AppendResponse(nil, failures), nil
}

// isOther reports whether a payload is JSON, and no record in it is of SQS.
func isOther(payload []byte) bool {
	var event struct {
		Records []struct{ EventSource string }
	}
	if !json.Valid(payload) {
		return false
	}
	_ = json.Unmarshal(payload, &event) // of another shape, it has none
	return !slices.ContainsFunc(event.Records, func(r struct{ EventSource string }) bool { return r.EventSource == "aws:sqs" })
}

// HandleEvent calls Invoke for an event that is decoded already, which it encodes
// again. Use it inside a handler of your own; Invoke is faster.
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

// process runs a batch, settles it, and returns the ids of what failed.
func (l *LambdaHandler) process(ctx context.Context, records []batch.Record) ([]string, error) {
	if len(records) == 0 {
		return nil, nil
	}
	info := batch.BatchInfo{
		Records:  len(records),
		QueueARN: records[0].QueueARN,
		Started:  time.Now(),
		Times:    l.engine.Times(ctx),
	}
	hooks := l.engine.Hooks
	ctx = hooks.BatchContext(ctx, info, records)
	hooks.BatchStarted(ctx, info)
	settlement := l.policy.Begin(ctx, info.Times)
	results := l.engine.Run(ctx, records, info.Times, settlement)
	warn := settlement.Settle(results)
	failures := partialfailure.Failures(results)
	someDone := slices.ContainsFunc(results, func(r batch.Result) bool { return r.Outcome.Done() })
	fail := len(failures) > 0 && (l.cfg.DeleteSucceeded || l.cfg.ErrorIfAllFail && !someDone)
	l.notify(ctx, info, func() { // the results are the hooks' from here on
		warn()
		if l.cfg.samLocal() {
			l.warnWouldBe(ctx, info, results)
		}
		settlement.AwaitHooks()
		hooks.BatchSettled(ctx, info, results)
	})
	l.flush(ctx, info.Times)
	if fail {
		return nil, &FailedError{Failed: len(failures), Records: len(records)}
	}
	return failures, nil
}

// invalidEvent is named for people: Lambda shows an error's type as errorType.
type invalidEvent struct{ error }

// FailedError is returned when records failed and the configuration asks for
// an error instead of a report: [Config.ErrorIfAllFail] or
// [Config.DeleteSucceeded].
type FailedError struct{ Failed, Records int }

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of %d records failed, see the log for each", e.Failed, e.Records)
}
