package reply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/internal/words"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
	"github.com/sqsbatch/sqsbatch/sender"
)

// HandlerConfig configures [Handler]. The zero value is ready to use.
type HandlerConfig struct {
	// SQS is the client that sends answers. Defaults to package handler's client for the
	// record's queue.
	SQS *sqs.Client

	// Prefix is the beginning of reply queues' names, see Config.Prefix. Answers go to no
	// other queue. Defaults to [DefaultPrefix].
	Prefix string

	// Accounts are further AWS accounts with reply queues. Their queues need a Policy that
	// allows the handler's role to send, see Config.Attributes. Defaults to none: only callers
	// in the account of the requests' queue get answers.
	Accounts []string

	// Inner is middleware around the decoding and the function. Its error, too, is sent as
	// the answer. Middleware that needs the outcome of the function, such as package
	// idempotency, belongs here. The first is the outermost.
	//
	//	reply.Handler(quote, reply.HandlerConfig{Inner: []func(batch.Handler) batch.Handler{
	//		idempotency.New(store, idempotency.Config{Key: idempotency.Field("id"), OnDuplicate: reply.Kept}),
	//	}})
	Inner []func(batch.Handler) batch.Handler

	// Sender configures how answers are sent: traces, metrics, a correlation id. Queue is
	// set for each reply queue, but Trace and OnCall get only the prefix of its name, such as
	// "sqsbatch-reply", since every process of a caller has another queue. Linger defaults to
	// 1 ms. Prepare must be nil, since a client does not undo its changes.
	Sender sender.Config
}

// sender returns the configuration of the sender for a reply queue.
func (c *HandlerConfig) sender(to string) sender.Config {
	cfg, name := senderConfig(c.Sender, to), strings.TrimRight(c.Prefix, "-_")
	if trace := c.Sender.Trace; trace != nil {
		cfg.Trace = func(ctx context.Context, _ string, m *sender.Message) func(sender.Result) { return trace(ctx, name, m) }
	}
	if onCall := c.Sender.OnCall; onCall != nil {
		cfg.OnCall = func(call sender.Call) {
			call.URL = call.URL[:strings.LastIndexByte(call.URL, '/')+1] + name
			onCall(call)
		}
	}
	return cfg
}

// Handler returns a [batch.Handler] that answers each request with the result of fn. The
// request's body is decoded as by [batch.JSON], and the answer's body is JSON.
//
// Handler takes one HandlerConfig at most. It returns nil if fn is nil.
func Handler[Req, Resp any](fn func(ctx context.Context, r Req) (Resp, error), config ...HandlerConfig) batch.Handler {
	cfg := wrapped.Last(config)
	if fn == nil {
		return nil
	}
	cfg.Prefix = cmp.Or(cfg.Prefix, DefaultPrefix)
	h := batch.JSON(func(ctx context.Context, r Req) error {
		v, err := fn(ctx, r)
		if err != nil {
			return err
		}
		body, err := json.Marshal(v)
		if err != nil {
			return batch.Permanent(fmt.Errorf("reply: the answer cannot be encoded: %w", err))
		}
		_ = idempotency.Keep(ctx, json.RawMessage(body)) // fails without idempotency, or if the body is too large to keep
		ctx.Value(resultKey{}).(*result).body = body
		return nil
	})
	answers := func(next batch.Handler) batch.Handler { return &answerer{cfg: cfg, next: next} }
	return batch.Chain(h, slices.Concat([]func(batch.Handler) batch.Handler{answers}, cfg.Inner, []func(batch.Handler) batch.Handler{ofItsRequest})...)
}

// ofItsRequest refuses a request if middleware passes another request's context, as for a
// chunk of package bulk: the other caller would get the answer.
func ofItsRequest(next batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if resultOf(ctx, r) == nil {
			return errors.New("reply: the context is not that of the request: middleware inside reply.Handler must pass on the context of each record")
		}
		return next.Handle(ctx, r)
	})
}

type resultKey struct{}

// result is the answer to a request.
type result struct {
	messageID string // of the request
	body      []byte
	notKept   bool // the request is a duplicate, and the first answer was not kept
}

// resultOf returns the result of a request, or nil if ctx belongs to another one.
func resultOf(ctx context.Context, r batch.Record) *result {
	if got, ok := ctx.Value(resultKey{}).(*result); ok && got.messageID == r.MessageID {
		return got
	}
	return nil
}

// Kept is for idempotency.Config.OnDuplicate of idempotency inside a [Handler]: it answers a
// repeated request with the kept answer to the first one. If nothing was kept, the caller gets
// an [Error] with that reason: the answer is larger than [idempotency.MaxResult], or was not
// kept in the transaction of sqlstore.InTx. Failures kept by idempotency.Config.KeepPermanent
// need no Kept.
func Kept(ctx context.Context, r batch.Record, kept []byte) error {
	got := resultOf(ctx, r)
	if got == nil {
		runner.Warn(ctx, batch.Warning{Message: "a repeated request was not answered: idempotency is around reply.Handler, and must be inside it, as an argument of reply.Handler"})
		return nil
	}
	got.body, got.notKept = kept, kept == nil
	return nil
}

// answerer is the handler of requests.
type answerer struct {
	cfg  HandlerConfig
	next batch.Handler

	outbound outbound
}

// Validate reports an invalid configuration, see [batch.Handler].
func (a *answerer) Validate() error {
	return checkConfig(cmp.Or(a.cfg.SQS, &sqs.Client{}), a.cfg.Prefix, a.cfg.Sender)
}

// Handle implements [batch.Handler].
func (a *answerer) Handle(ctx context.Context, r batch.Record) error {
	req, err := a.cfg.requestOf(&r)
	if err != nil {
		return err
	}
	if late := time.Since(req.Deadline); late >= 0 {
		return fmt.Errorf("%w: the caller has given up %v ago", batch.ErrExpired, late)
	}
	waited, cancel := context.WithDeadline(ctx, req.Deadline)
	defer cancel()
	got := result{messageID: r.MessageID}
	err = a.next.Handle(ctxkey.With(waited, resultKey{}, &got), r)
	if gaveUp := ctx.Err() == nil && waited.Err() != nil; gaveUp {
		if err != nil && !errors.Is(err, waited.Err()) {
			runner.Warn(ctx, batch.Warning{Message: "the caller timed out; the error is not delivered", Err: err})
		}
		return fmt.Errorf("%w: the caller has given up while the request was handled", batch.ErrExpired)
	}
	reply := answer{ID: req.ID}
	before, failedBefore := errors.AsType[*idempotency.FailedError](err)
	switch v := verdictOf(ctx, err); {
	case err == nil:
	case v.Outcome == batch.Duplicate && got.body != nil:
	case v.Outcome == batch.Duplicate && got.notKept && !failedBefore:
		reply.Error, got.body = &Error{Text: "the request was handled before, and its answer was not kept", Permanent: true}, []byte("null")
	case v.Outcome == batch.Duplicate && failedBefore:
		reply.Error, got.body = &Error{Text: before.Text, Permanent: true}, []byte("null")
	case v.Outcome != batch.Pending, v.Aborts, errors.Is(err, batch.ErrStopped), ctx.Err() != nil:
		return err
	default:
		text := err.Error()
		if failedBefore { // in another delivery of the request, whose answer may be lost
			text = before.Text
		}
		reply.Error = &Error{Text: words.Shorten(text, maxText), Permanent: v.Permanent, RetryAfter: v.After}
		got.body = []byte("null")
		runner.Warn(ctx, batch.Warning{Message: "the request was answered with an error", Err: err, Info: v.Permanent})
		err = nil
	}
	if failed := a.send(waited, req, reply, got.body); failed != nil {
		return failed
	}
	return err
}

// verdictOf returns the verdict of an error, including the handler's Config.Classify.
func verdictOf(ctx context.Context, err error) batch.Verdict {
	v := batch.VerdictOf(err)
	if view, ok := runner.From(ctx); ok && err != nil && !v.Verb {
		v.Permanent = view.Permanent(err)
	}
	return v
}

// send returns nil if SQS has confirmed the answer. SQS may not find a new reply queue at
// first, so send tries again for a moment, see [outbound.wait].
func (a *answerer) send(ctx context.Context, req request, reply answer, body []byte) error {
	s, err := a.outbound.acquire(req.queue, func() (*sender.Sender, error) {
		client, err := a.client(ctx)
		if err != nil {
			return nil, err
		}
		return sender.New(client, a.cfg.sender(req.queue))
	})
	if err != nil {
		return err
	}
	defer a.outbound.release(s)
	message := sender.Message{Body: string(body), Attributes: map[string]batch.MessageAttribute{answerAttribute: attribute(reply)}}
	err = s.Send(ctx, message)
	if sqserror.Of(err) == sqserror.NoQueue && a.outbound.wait(s) {
		for tries := 1; sqserror.Of(err) == sqserror.NoQueue && tries < 3 && sleep.For(ctx, settling); tries++ {
			err = s.Send(ctx, message)
		}
		a.outbound.waited(s, sqserror.Of(err) != sqserror.NoQueue)
	}
	if tooLarge, is := errors.AsType[*sender.MessageError](err); is && reply.Error == nil {
		reply.Error = &Error{Text: "the answer cannot be sent: " + tooLarge.Error(), Permanent: true}
		message.Body, message.Attributes[answerAttribute] = "null", attribute(reply)
		err = s.Send(ctx, message)
	}
	switch name := batch.QueueName(req.queue); {
	case err == nil:
		return nil
	case sqserror.Of(err) == sqserror.NoQueue:
		return fmt.Errorf("%w: the reply queue %s is gone", batch.ErrExpired, name)
	case !time.Now().Before(req.Deadline):
		runner.Warn(ctx, batch.Warning{Message: "the answer could not be sent before the caller gave up", Err: err})
		return fmt.Errorf("%w: the answer could not be sent before the caller gave up", batch.ErrExpired)
	default:
		return fmt.Errorf("reply: the answer was not sent to %s: %w", name, err)
	}
}

func (a *answerer) client(ctx context.Context) (*sqs.Client, error) {
	if a.cfg.SQS != nil {
		return a.cfg.SQS, nil
	}
	if own, ok := ctx.Value(ctxkey.Client{}).(interface {
		Client(context.Context) (*sqs.Client, error)
	}); ok {
		return own.Client(ctx)
	}
	return nil, errors.New("reply: HandlerConfig.SQS is nil, and package handler does not run the handler")
}
