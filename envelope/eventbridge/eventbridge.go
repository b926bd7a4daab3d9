// Package eventbridge takes events of Amazon EventBridge that a rule puts into a
// queue:
//
//	handler.Run(eventbridge.JSON(shipOrder))
//
//	func shipOrder(ctx context.Context, e eventbridge.Event[OrderPlaced]) error {
//		return ship(ctx, e.Detail.OrderID, e.Time)
//	}
//
// A function that wants the detail only, or one that is not decoded from JSON,
// is eventbridge.Unwrap(batch.JSON(shipOrder)), and asks [From] for the rest.
// Events by way of an SNS topic are sns.Unwrap(eventbridge.JSON(shipOrder)).
//
// What a rule sends is an event only without an input path, constant or input
// transformer: those may send anything, such as the detail alone, and that is
// plain JSON for batch.JSON. So is what pipes and schedules send.
//
// See "Event structure reference" in the Amazon EventBridge User Guide.
package eventbridge

import (
	"bytes"
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Event is an event with its detail decoded into a T.
type Event[T any] struct {
	// ID is EventBridge's id of the event, the same for all targets.
	ID string
	// Source is where the event comes from, "com.example.shop" or "aws.ec2".
	Source string
	// DetailType says, together with Source, what Detail is.
	DetailType string
	// Time is when it happened, as the source says. Zero when it does not.
	Time time.Time
	// AccountID and Region are where it comes from.
	AccountID string
	Region    string
	// Resources are the ARNs that it is about. Often none.
	Resources []string
	// Detail is what happened.
	Detail T
}

// JSON makes a [batch.Handler] of a function that takes an event with its detail
// decoded from JSON. Options, and the method Validate() error of T or *T, are
// those of [batch.JSON]; they are for the detail only, so that strictness does not
// refuse what EventBridge adds to its events.
//
// An event is malformed if it cannot be decoded, has no source, no detail-type or no
// detail, or has a detail of null, see [batch.MalformedError]. Where
// it says so, a field is named from the event on, "detail.items.qty", and an
// offset is one in the body.
//
// [batch.RecordFrom] gives the SQS message as it is. Without fn there is no
// handler: what runs handlers refuses the nil that JSON returns then.
func JSON[T any](fn func(ctx context.Context, e Event[T]) error, opts ...batch.JSONOption) batch.HandlerFunc {
	if fn == nil {
		return nil
	}
	var o jsonbody.Options
	for _, opt := range opts {
		opt(&o)
	}
	return func(ctx context.Context, r batch.Record) error {
		opened, reason, err := open(r.Body)
		if reason != "" {
			return &batch.MalformedError{Reason: reason, Err: err}
		}
		e := Event[T]{
			ID: opened.ID, Source: opened.Source, DetailType: opened.DetailType, Time: opened.time,
			AccountID: opened.Account, Region: opened.Region, Resources: opened.Resources,
		}
		if bad := jsonbody.Decode(string(opened.Detail), &e.Detail, o.Strict); bad != nil {
			at := func() int { return jsonbody.Offset(r.Body, "detail") }
			return &batch.MalformedError{Reason: bad.Within("detail", at), Err: bad.Unwrap()}
		}
		return fn(ctx, e)
	}
}

// Unwrap hands on the detail of an event as the record's body: its JSON as it is
// in the event. The record that h gets, and [batch.RecordFrom] gives, has no MD5
// of the body, since SQS's is of the whole; all else is the SQS message's.
//
// What is malformed to [JSON] is so here. Without h there is no handler: what
// runs handlers refuses the nil that Unwrap returns then.
func Unwrap(h batch.Handler) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	return &unwrapper{h}
}

type unwrapper struct{ next batch.Handler }

func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	opened, reason, err := open(r.Body)
	if reason != "" {
		return &batch.MalformedError{Reason: reason, Err: err}
	}
	r.Body, r.MD5OfBody = string(opened.Detail), ""
	return u.next.Handle(batch.WithRecord(valuectx.With(ctx, key{}, opened), r), r)
}

func (u *unwrapper) Validate() error { return wrapped.Validate(u.next) }

// From returns the event that ctx belongs to, inside of [Unwrap]; its Detail is
// the record's body. It reports false elsewhere.
func From(ctx context.Context) (events.EventBridgeEvent, bool) {
	switch e := ctx.Value(key{}).(type) {
	case *envelope:
		return events.EventBridgeEvent{
			Version: e.Version, ID: e.ID, DetailType: e.DetailType, Source: e.Source, AccountID: e.Account,
			Time: e.time, Region: e.Region, Resources: e.Resources, Detail: bytes.Clone(e.Detail),
		}, true
	case *events.EventBridgeEvent:
		return *e, true
	default:
		return events.EventBridgeEvent{}, false
	}
}

// With returns a context from which [From] gets e, for tests of functions.
func With(ctx context.Context, e events.EventBridgeEvent) context.Context {
	return valuectx.With(ctx, key{}, &e)
}

type key struct{}
