// Package s3event decodes notifications of Amazon S3 that a bucket sends to a queue:
//
//	handler.Run(s3event.Each(importObject))
//
//	func importObject(ctx context.Context, r events.S3EventRecord) error {
//		return fetch(ctx, r.S3.Bucket.Name, r.S3.Object.Key)
//	}
//
// For notifications that come through an SNS topic use
// sns.Unwrap(s3event.Each(importObject)). What S3 sends to EventBridge has a different
// form: an event whose detail has a bucket and an object with a key that is not encoded.
// Use package eventbridge for it.
//
// See "Event message structure" in the Amazon S3 User Guide.
package s3event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Each returns a [batch.Handler] that calls fn for each record of a notification, one after
// another, in order. The message is done when all records have succeeded.
//
// The first record that fails ends the notification with its error, verbs included. So does
// the end of ctx between two records. The message comes back, and fn is called again for
// all its records. After a permanent failure the whole message goes to the dead-letter
// queue (or is dropped, see OnPermanent), including records for which fn was not called.
//
// S3.Object.Key and URLDecodedKey both have the key as it is in S3, decoded from the
// notification's URL encoding. A function must not decode it again, or a "+" would become a
// space.
//
// The test message that S3 sends when a notification is configured (s3:TestEvent) succeeds
// without a call of fn. A body is malformed (see [batch.MalformedError]) if it has no
// records, or has a record that cannot be decoded, is not from S3, or names no bucket or no
// object. fn is then called for none of its records.
//
// [batch.RecordFrom] returns the SQS message. Each returns nil if fn is nil.
func Each(fn func(ctx context.Context, r events.S3EventRecord) error) batch.HandlerFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, m batch.Record) error {
		records, reason, err := open(m.Body)
		if reason != "" {
			return &batch.MalformedError{Reason: reason, Err: err}
		}
		for i, r := range records {
			if i > 0 && ctx.Err() != nil {
				return fmt.Errorf("after %d of %d records of the S3 notification: %w", i, len(records), ctx.Err())
			}
			if err := fn(ctx, r); err != nil {
				if len(records) == 1 {
					return err
				}
				return fmt.Errorf("record %d of %d of the S3 notification: %w", i+1, len(records), err)
			}
		}
		return nil
	}
}

// open decodes a notification's records (none for a test), or returns the reason why the body
// is malformed.
func open(body string) (records []events.S3EventRecord, reason string, err error) {
	n := new(notification)
	if err := json.Unmarshal([]byte(body), n); err != nil {
		return nil, jsonbody.Where(body, n), err
	}
	if len(n.Records) == 0 {
		if n.Event == "s3:TestEvent" {
			return nil, "", nil
		}
		return nil, "it has no Records: it is not a notification of S3", nil
	}
	const short = 400 // bytes; most records are longer
	records = make([]events.S3EventRecord, 0, min(len(n.Records), 1+len(body)/short))
	for i, text := range n.Records {
		var r events.S3EventRecord
		if reason, err := decode(body, i, string(text), &r); reason != "" {
			return nil, reason, err
		}
		records = append(records, r)
	}
	return records, "", nil
}

// decode reads record i of a body and decodes its key.
func decode(body string, i int, text string, r *events.S3EventRecord) (reason string, err error) {
	record := fmt.Sprintf("Records[%d]", i)
	bad := jsonbody.Decode(text, r, false)
	switch {
	case bad == nil:
	case errors.As(bad.Unwrap(), new(url.EscapeError)):
		return record + ": the object's key is not URL-encoded", bad.Unwrap()
	default:
		return bad.Within(record, func() int { return jsonbody.Offset(body, "Records", i) }), bad.Unwrap()
	}
	switch {
	case !strings.HasSuffix(r.EventSource, ":s3"): // aws:s3, and services that send the same notifications
		return record + ": its eventSource is not aws:s3", nil
	case r.S3.Bucket.Name == "":
		return record + ": it names no bucket", nil
	case r.S3.Object.URLDecodedKey == "":
		return record + ": it names no object", nil
	}
	r.S3.Object.Key = r.S3.Object.URLDecodedKey
	return "", nil
}

// notification is the JSON of S3. Records are decoded one by one: a list of thousands of empty
// records would otherwise take 200 times its text in memory, although the first one is
// malformed.
type notification struct {
	Event   string
	Records []text
}

// text is JSON that is not decoded yet.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	*t = text(b)
	return nil
}
