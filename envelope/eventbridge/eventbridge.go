// Package eventbridge decodes events of Amazon EventBridge that a rule sends to a queue:
//
//	handler.Run(eventbridge.JSON(shipOrder))
//
//	func shipOrder(ctx context.Context, e eventbridge.Event[OrderPlaced]) error {
//		return ship(ctx, e.Detail.OrderID, e.Time)
//	}
//
// A function that needs only the detail, or a detail that is not JSON, uses
// eventbridge.Unwrap(batch.JSON(shipOrder)), and calls [From] for the rest. For events that
// come through an SNS topic use sns.Unwrap(eventbridge.JSON(shipOrder)).
//
// A rule sends whole events only if its target has no input path, constant or input
// transformer. With one of them it may send anything, such as the detail alone; use batch.JSON
// for such bodies. Pipes and schedules do not send events either.
//
// See "Event structure reference" in the Amazon EventBridge User Guide.
package eventbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Event is an event with its detail decoded into a T.
type Event[T any] struct {
	// ID is EventBridge's id of the event, the same for all targets.
	ID string
	// Source is the sender of the event, such as "com.example.shop" or "aws.ec2".
	Source string
	// DetailType is the type of Detail, together with Source.
	DetailType string
	// Time is the time of the event according to the source. Zero if the source gave none.
	Time time.Time
	// AccountID and Region are those of the sender.
	AccountID string
	Region    string
	// Resources are the ARNs that the event is about. Often none.
	Resources []string
	// Detail is the event's content.
	Detail T
}

// JSON returns a [batch.Handler] that passes fn an event with its detail decoded from JSON.
// Options, and the method Validate() error of T or *T, work as in [batch.JSON]. They apply to
// the detail only, so that strict decoding accepts fields that EventBridge adds to its events.
//
// An event is malformed (see [batch.MalformedError]) if it cannot be decoded, or has no
// source, no detail-type, no detail, or a detail of null. The error names a field by its
// path in the event, "detail.items.qty", and a position by its offset in the body.
//
// [batch.RecordFrom] returns the SQS message unchanged. JSON returns nil if fn is nil.
func JSON[T any](fn func(ctx context.Context, e Event[T]) error, cfg ...batch.JSONConfig) batch.HandlerFunc {
	if fn == nil {
		return nil
	}
	strict := wrapped.Last(cfg).DisallowUnknownFields
	return func(ctx context.Context, r batch.Record) error {
		opened, reason, err := open(r.Body)
		if reason != "" {
			return &batch.MalformedError{Reason: reason, Err: err}
		}
		e := Event[T]{
			ID: opened.ID, Source: opened.Source, DetailType: opened.DetailType, Time: opened.Time,
			AccountID: opened.AccountID, Region: opened.Region, Resources: opened.Resources,
		}
		if bad := jsonbody.Decode(string(opened.Detail), &e.Detail, strict); bad != nil {
			at := func() int { return jsonbody.Offset(r.Body, "detail") }
			return &batch.MalformedError{Reason: bad.Within("detail", at), Err: bad.Unwrap()}
		}
		return fn(ctx, e)
	}
}

// Unwrap returns a handler that passes the detail of an event to h as the record's body: the
// JSON as written in the event. The record of h, also from [batch.RecordFrom], has no
// MD5OfBody, since SQS's digest is of the whole body. Its other fields are from the SQS message.
//
// Events that are malformed for [JSON] are malformed here. Unwrap returns nil if h is nil.
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
	return u.next.Handle(batch.WithRecord(ctxkey.With(ctx, key{}, opened), r), r)
}

func (u *unwrapper) Validate() error { return wrapped.Validate(u.next) }

// From returns the event of ctx, inside [Unwrap]. The event's Detail is the record's body.
// Elsewhere it returns false.
func From(ctx context.Context) (events.EventBridgeEvent, bool) {
	e, ok := ctx.Value(key{}).(*events.EventBridgeEvent)
	if !ok {
		return events.EventBridgeEvent{}, false
	}
	event := *e
	event.Detail = bytes.Clone(e.Detail)
	return event, true
}

// With returns a context from which [From] returns e, for tests of functions.
func With(ctx context.Context, e events.EventBridgeEvent) context.Context {
	return ctxkey.With(ctx, key{}, &e)
}

type key struct{}

// envelope is the JSON of EventBridge.
type envelope struct {
	events.EventBridgeEvent
	Time string `json:"time"` // may be empty
}

// open decodes an event, or returns the reason why the body is malformed.
func open(body string) (event *events.EventBridgeEvent, reason string, err error) {
	e := new(envelope)
	if err := json.Unmarshal([]byte(body), e); err != nil {
		return nil, jsonbody.Where(body, e), err
	}
	const transformed = ": it is not an event of EventBridge, or the rule has an input transformer, whose output is for batch.JSON"
	switch {
	case e.Source == "":
		return nil, "the event has no source" + transformed, nil
	case e.DetailType == "":
		return nil, "the event has no detail-type" + transformed, nil
	case len(e.Detail) == 0 || string(e.Detail) == "null":
		return nil, "the event has no detail" + transformed, nil
	}
	if e.Time != "" {
		if e.EventBridgeEvent.Time, err = time.Parse(time.RFC3339, e.Time); err != nil {
			return nil, "the event's time is not a valid time", err
		}
	}
	return &e.EventBridgeEvent, "", nil
}
