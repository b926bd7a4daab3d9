package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// KeyFunc returns the key of a record, which identifies its work. An empty key, or an error
// that wraps [ErrNoKey], means that the record has no key. Any other error fails the record. A
// KeyFunc must be safe for concurrent use.
type KeyFunc func(ctx context.Context, r batch.Record) (string, error)

// KeyOf returns a KeyFunc that decodes the body from JSON into a T and calls key. A body that
// cannot be decoded is malformed, as with [batch.JSON].
//
//	Key: idempotency.KeyOf(func(o Order) string { return o.ID })
func KeyOf[T any](key func(T) string, cfg ...batch.JSONConfig) KeyFunc {
	return func(ctx context.Context, r batch.Record) (k string, err error) {
		err = batch.JSON(func(_ context.Context, v T) error {
			k = key(v)
			return nil
		}, cfg...)(ctx, r)
		return k, err
	}
}

// Field returns a KeyFunc for a field of a JSON body. Several names are a path into objects:
// Field("detail", "id"). The field must be a string or a number. A record without it, or with
// another type, has no key.
//
// A body is malformed if it is not JSON, or if a name on the path occurs twice in its object,
// ignoring case: the handler may decode the other field.
func Field(path ...string) KeyFunc {
	return func(_ context.Context, r batch.Record) (string, error) {
		value, bad := jsonbody.Find(r.Body, path...)
		if bad != nil {
			return "", &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		text, ok := jsonbody.Scalar(value)
		if !ok || text == "" || value == "true" || value == "false" {
			return "", fmt.Errorf("%w: the body has no field %q with a string or a number", ErrNoKey, strings.Join(path, "."))
		}
		return text, nil
	}
}

// Keys returns a KeyFunc that combines several keys, such as Keys(Field("type"), Field("id"))
// for several kinds of records. A record without one of them has no key.
func Keys(parts ...KeyFunc) KeyFunc {
	return func(ctx context.Context, r batch.Record) (string, error) {
		list := make([]string, len(parts))
		for i, part := range parts {
			var err error
			if list[i], err = part(ctx, r); err != nil {
				return "", err
			}
			if list[i] == "" {
				return "", ErrNoKey
			}
		}
		joined, err := json.Marshal(list) // no two lists are the same text
		return string(joined), err
	}
}

// Attribute returns a KeyFunc for a message attribute of type String or Number.
func Attribute(name string) KeyFunc {
	return func(_ context.Context, r batch.Record) (string, error) {
		if a := r.MessageAttributes[name]; a.StringValue != "" {
			return a.StringValue, nil
		}
		return "", fmt.Errorf("%w: there is no message attribute %q with a text", ErrNoKey, name)
	}
}

// DeduplicationID returns the MessageDeduplicationId of a FIFO queue's record. SQS drops
// messages with the same id for five minutes; the middleware, for [Config.Remember].
func DeduplicationID(_ context.Context, r batch.Record) (string, error) {
	if r.DeduplicationID == "" {
		return "", fmt.Errorf("%w: there is no MessageDeduplicationId, which only FIFO queues have", ErrNoKey)
	}
	return r.DeduplicationID, nil
}

// MessageID returns SQS's id of the message. It protects only against a second delivery of the
// same message: a message that is sent twice, redriven from a dead-letter queue or replayed has
// a new id, and is handled again. Prefer an id from the producer.
func MessageID(_ context.Context, r batch.Record) (string, error) { return r.MessageID, nil }

// Body returns the whole body: for [Config.Content], or as a key if equal bodies mean equal
// work.
func Body(_ context.Context, r batch.Record) (string, error) { return r.Body, nil }

// maxKey is the largest length of a stored key, in bytes.
const maxKey = 1024

// identify returns a record's key for the store, and the digest of its content.
func (c *Config) identify(ctx context.Context, r *batch.Record) (key, content string, err error) {
	if key, err = c.Key(ctx, *r); err == nil && key == "" {
		err = ErrNoKey
	}
	if err == nil && c.Content != nil {
		if content, err = c.Content(ctx, *r); err == nil {
			content = SHA256(content)
		}
	}
	switch {
	case errors.Is(err, ErrNoKey):
		return "", "", batch.Permanent(err)
	case err != nil:
		return "", "", err
	}
	prefix := c.Prefix
	if prefix == "" {
		prefix = batch.QueueName(r.QueueARN)
	}
	hash := c.Hash(key)
	if hash == "" {
		return "", "", batch.Permanent(errors.New("idempotency: Config.Hash returned nothing: all records would have one key"))
	}
	if key = prefix + "#" + hash; len(key) > maxKey {
		return "", "", batch.Permanent(fmt.Errorf("idempotency: the key has %d bytes, at most %d can be stored: leave Config.Hash out", len(key), maxKey))
	}
	if !utf8.ValidString(key) {
		return "", "", batch.Permanent(errors.New("idempotency: the key is not UTF-8, and cannot be stored as it is: leave Config.Hash out"))
	}
	return key, content, nil
}
