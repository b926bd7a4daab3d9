// Package s3event takes notifications of Amazon S3 that a bucket puts into a
// queue:
//
//	handler.Run(s3event.Each(importObject))
//
//	func importObject(ctx context.Context, r events.S3EventRecord) error {
//		return fetch(ctx, r.S3.Bucket.Name, r.S3.Object.Key)
//	}
//
// By way of an SNS topic it is sns.Unwrap(s3event.Each(importObject)). What S3
// sends to EventBridge is of another form, with keys as they are: an event whose
// detail has bucket and object, for package eventbridge.
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

// Each makes a [batch.Handler] of a function that takes one record of a
// notification. A notification may have several: fn is called for one after
// another, in their order, and the message is done with when all have succeeded.
// The first that fails ends it with its error, verbs included, and so does the
// end of ctx between two: the message comes back, and fn is called again for
// those before it as well. A permanent failure sends the whole message to the
// dead-letter queue, with records behind it that fn was not called for; where
// OnPermanent drops, they are gone with it.
//
// S3.Object.Key is the object's key as S3 wants it, as is URLDecodedKey: in the
// notification it is URL-encoded, with "+" for a space. A function that decodes
// it itself must do so no longer, or it would make a space of a "+".
//
// The test that S3 sends when a notification is configured (s3:TestEvent) is done
// with and does not reach fn. A body without records, and one with a record that
// cannot be decoded, comes from elsewhere, or names no bucket or no object, is
// malformed, see [batch.MalformedError]; then fn is called for none of them.
//
// [batch.RecordFrom] gives the SQS message. Without fn there is no handler: what
// runs handlers refuses the nil that Each returns then.
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

// open reads a notification's records (none of a test), or says what is wrong.
func open(body string) (records []events.S3EventRecord, reason string, err error) {
	n := new(notification)
	if err := json.Unmarshal([]byte(body), n); err != nil {
		return nil, jsonbody.Where(body, n), err
	}
	if len(n.Records) == 0 {
		if n.Event == "s3:TestEvent" {
			return nil, "", nil
		}
		return nil, "it has no Records: it is no notification of S3", nil
	}
	const short = 400 // bytes of a record at least, nearly always
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

// decode reads record i of a body and has its key decoded.
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
	case !strings.HasSuffix(r.EventSource, ":s3"): // aws:s3, and those of services that do as S3 does
		return record + ": its eventSource is not aws:s3", nil
	case r.S3.Bucket.Name == "":
		return record + ": it names no bucket", nil
	case r.S3.Object.URLDecodedKey == "":
		return record + ": it names no object", nil
	}
	r.S3.Object.Key = r.S3.Object.URLDecodedKey
	return "", nil
}

// notification is the JSON that S3 writes. Its records are decoded one by one: a list of thousands of nothing, which the
// first of them gives away, would take 200 times its text in memory.
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
