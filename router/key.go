package router

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Key returns the key by which a record is routed. It returns an error if the record has
// none. The error's text appears in logs and in the dead letter. If it is a
// [batch.MalformedError], it becomes the record's error unchanged.
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
// in the body. path leads to the field through objects. Names are case-sensitive. If a name
// occurs several times in an object, the first one counts. The body is read up to the
// field, and is not decoded.
//
// A body is malformed if it is not JSON up to the field.
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
