// Package router chooses a handler for each record: by a message attribute, a field of the
// body, the queue, or anything else in the record:
//
//	handler.Run(router.New(router.Field("type"), router.Routes{
//		"order.placed":    router.Part(batch.JSON(shipOrder), "data"),
//		"order.cancelled": router.Part(batch.JSON(refund), "data"),
//	}))
//
// Keys for common formats:
//
//   - CloudEvents in the body: Field("type"); in message attributes: Attribute("ce-type").
//   - EventBridge events: Field("detail-type"), with eventbridge.JSON as the handler of a route.
//   - SNS notifications: sns.Unwrap(router.New(…)).
//
// [First] is for queues whose bodies do not name their type.
package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Routes maps the keys that a [Key] returns to handlers.
type Routes map[string]batch.Handler

// Router is a [batch.Handler] that passes each record to the handler of its route. Make one
// with [New].
type Router struct {
	by        Key
	routes    Routes
	otherwise func(ctx context.Context, r batch.Record, err error) error
}

// New returns a Router that chooses by a key.
//
// A record fails for good if it has no key or its key has no route. The error names the key
// only if it looks like a name (at most 64 letters, digits and "-_.:/#"), since bodies must
// not appear in logs. Use [Router.Otherwise] to handle such records differently.
func New(by Key, routes Routes) *Router {
	return &Router{by: by, routes: maps.Clone(routes), otherwise: failForGood}
}

func failForGood(_ context.Context, _ batch.Record, err error) error { return batch.Permanent(err) }

// Otherwise sets a function for records without a route, and returns the Router. err is the
// reason. The function may return err to retry the record, return nil to drop it, or call
// another handler's Handle(ctx, r). Without Otherwise, or if f is nil, such records fail for
// good.
func (r *Router) Otherwise(f func(ctx context.Context, r batch.Record, err error) error) *Router {
	if r.otherwise = f; f == nil {
		r.otherwise = failForGood
	}
	return r
}

// Handle passes a record to the handler of its route.
func (r *Router) Handle(ctx context.Context, record batch.Record) error {
	key, err := r.by(record)
	if err != nil {
		var malformed *batch.MalformedError
		if errors.As(err, &malformed) {
			return err
		}
		return r.otherwise(ctx, record, err)
	}
	h, ok := r.routes[key]
	if !ok {
		return r.otherwise(ctx, record, fmt.Errorf("no handler for %s", named(key)))
	}
	return h.Handle(ctx, record)
}

// plain are the characters of names.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/# "

// named quotes a key, or describes it if it may contain the sender's data.
func named(key string) string {
	switch {
	case key == "":
		return "an empty type"
	case len(key) > 64:
		return fmt.Sprintf("its type, which has %d bytes", len(key))
	case strings.Trim(key, plain) != "":
		return "its type, which is not a plain name"
	}
	return fmt.Sprintf("type %q", key)
}

// Validate returns an error that names each route whose handler is nil or not valid.
func (r *Router) Validate() error {
	var errs []error
	if r.by == nil {
		errs = append(errs, errors.New("router: the key is nil, must be one such as router.Field(\"type\")"))
	}
	if len(r.routes) == 0 {
		errs = append(errs, errors.New("router: there are no routes"))
	}
	for _, key := range slices.Sorted(maps.Keys(r.routes)) {
		if wrapped.IsNil(r.routes[key]) {
			errs = append(errs, fmt.Errorf("router: the handler of route %q is nil", key))
		} else if err := wrapped.Validate(r.routes[key]); err != nil {
			errs = append(errs, fmt.Errorf("router: route %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// Concurrency returns the largest number that a route's handler asks for, see
// [batch.Handler].
func (r *Router) Concurrency() (most int) {
	for _, h := range r.routes {
		most = max(most, wrapped.Concurrency(h))
	}
	return most
}

// Key returns the key by which a record is routed. It returns an error if the record has
// none. The error's text appears in logs and in the dead letter. A [batch.MalformedError]
// becomes the record's error unchanged.
type Key func(r batch.Record) (string, error)

// Attribute routes by a message attribute of type String or Number, with the value as it
// was sent.
func Attribute(name string) Key {
	return func(r batch.Record) (string, error) {
		a, ok := r.MessageAttributes[name]
		if !ok || a.StringValue == "" {
			return "", fmt.Errorf("no handler: the message has no attribute %q of type String or Number", name)
		}
		return a.StringValue, nil
	}
}

// Field routes by a field of a JSON body: a string, or a number, true or false as written
// in the body. Several names are a path into objects. Names are case-sensitive. The body is
// scanned, not decoded.
//
// A body is malformed if it is not JSON, or if a name on the path occurs twice in its object,
// ignoring case: the handler of the route may decode the other field.
func Field(path ...string) Key {
	return func(r batch.Record) (string, error) {
		value, bad := jsonbody.Find(r.Body, path...)
		if bad != nil {
			return "", &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		text, ok := jsonbody.Scalar(value)
		if !ok {
			return "", fmt.Errorf("no handler: the body has no field %q with a string, a number or a bool", strings.Join(path, "."))
		}
		return text, nil
	}
}

// Queue routes by the name of the record's queue, for a function with several event
// sources.
func Queue(r batch.Record) (string, error) { return batch.QueueName(r.QueueARN), nil }

// Group routes by the message group. Messages of a standard queue may have none.
func Group(r batch.Record) (string, error) {
	if r.GroupID == "" {
		return "", errors.New("no handler: the message has no group")
	}
	return r.GroupID, nil
}
