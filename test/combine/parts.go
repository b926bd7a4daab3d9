package combine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/router"
	"github.com/sqsbatch/sqsbatch/sender"
)

// partNames are what can go around a function. bulk and reply have the function itself.
var partNames = []string{"idempotency", "bulk", "sender", "reply", "router", "breaker", "ratelimit", "s3payload", "encoded"}

// order is an order of two parts.
type order struct{ Outer, Inner string }

// wrong are the orders that break a promise.
var wrong = map[order]Promise{
	{"sender", "idempotency"}:    SendsMade,    // the key is completed before the messages are confirmed
	{"sender", "s3payload"}:      SendsMade,    // the object is deleted before the messages are confirmed
	{"sender", "reply"}:          SendsMade,    // the caller is answered before the messages are confirmed
	{"idempotency", "reply"}:     Answered,     // a duplicate does not reach reply, which would answer it
	{"idempotency", "s3payload"}: NothingLost,  // the body is a pointer, without the key
	{"idempotency", "encoded"}:   NothingLost,  // the body is encoded, without the key
	{"router", "s3payload"}:      NothingLost,  // the body is a pointer, without the type
	{"router", "encoded"}:        NothingLost,  // the body is encoded, without the type
	{"encoded", "s3payload"}:     NothingLost,  // the pointer is not encoded, what it leads to is
	{"reply", "s3payload"}:       Answered,     // the object is deleted before the answer is confirmed
	{"breaker", "reply"}:         BreakerOpens, // an error that is answered counts as a success
	{"bulk", "idempotency"}:      Drained,      // in Unwrap: what is behind another record of a FIFO group has no claim, and its transaction fails
}

// useless are the other orders that are not drawn. Outside of the rate limit, the breaker takes a
// record without a token for a failure. In Unwrap, a function of many has no messages of a record. A
// handler has one function.
var useless = []order{{"breaker", "ratelimit"}, {"bulk", "sender"}, {"bulk", "reply"}, {"reply", "bulk"}}

func refused(outer, inner string) bool {
	_, is := wrong[order{outer, inner}]
	return is || slices.Contains(useless, order{outer, inner})
}

// Body is what the function gets.
type Body struct {
	N   int    `json:"n"`
	ID  string `json:"id"`
	Pad string `json:"pad"`
}

// around puts parts around a handler. bulk and reply replace it.
func (e *env) around(parts []string, function func() batch.Handler) batch.Handler {
	if len(parts) == 0 {
		return e.mutated("function", function())
	}
	rest := func() batch.Handler { return e.around(parts[1:], function) }
	inside := func(next batch.Handler) batch.Handler {
		return e.around(parts[1:], func() batch.Handler { return next })
	}
	var h batch.Handler
	switch parts[0] {
	case "bulk":
		cfg := bulk.Config{MaxItems: e.w.plan.Chunk}
		if len(parts) > 1 {
			cfg.Unwrap = inside
		}
		h = bulk.JSON(e.chunk, cfg)
	case "reply":
		h = reply.Handler(e.answer, reply.HandlerConfig{SQS: e.sqs, Inner: []func(batch.Handler) batch.Handler{inside}})
	case "idempotency":
		cfg := idempotency.Config{Key: idempotency.Field("id"), Hash: idempotency.Plain, KeepPermanent: e.w.plan.KeepPermanent, OnDuplicate: e.duplicate}
		if slices.Contains(parts, "router") {
			cfg.Key = idempotency.Field("data", "id")
		}
		if e.w.plan.has("reply") {
			cfg.OnDuplicate = reply.Kept
		}
		h = batch.Chain(rest(), idempotency.New(e.store, cfg))
	case "sender":
		h = batch.Chain(rest(), e.mails.Wrap)
	case "router":
		route := func() batch.Handler { return router.Part(rest(), "data") }
		h = router.New(router.Field("type"), router.Routes{"even": route(), "odd": route()})
	case "breaker":
		h = batch.Chain(rest(), e.breaker)
	case "ratelimit":
		h = batch.Chain(rest(), ratelimit.New(e.limiter))
	case "s3payload":
		h = batch.Chain(rest(), s3payload.Unwrap(s3payload.Config{
			Buckets: []string{bucket}, Client: e.s3, Prefixes: []string{""}, DeleteAfterSuccess: true, IgnoreMissing: true, Warned: func(context.Context, batch.Warning) {},
		}))
	case "encoded":
		h = batch.Chain(rest(), encoded.Unwrap)
	}
	return e.mutated(parts[0], h)
}

const bucket = "bodies"

// newParts makes what the parts of a process share.
func (e *env) newParts() (err error) {
	e.limiter = rate.NewLimiter(rate.Limit(e.w.plan.Rate), 3)
	e.breaker = breaker.New(gobreaker.Settings{
		Timeout:     5 * time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= trips },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			e.note(Entry{Kind: Changed, Opened: to == gobreaker.StateOpen})
		},
	}, breaker.Config{Classify: classify})
	e.mails, err = sender.New(e.sqs, sender.Config{Queue: e.w.server.QueueURL(e.w.mails), CorrelationAttribute: correlation})
	return err
}

// trips is after how many failures in a row the breaker opens.
const trips = 3

// correlation is an attribute of the messages that the function sends: the id of their record.
const correlation = "record"

var errClassified = errors.New("no retry fixes this")

func classify(err error) error {
	if errors.Is(err, errClassified) {
		return batch.Permanent(err)
	}
	return err
}
