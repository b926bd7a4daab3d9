package s3payload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap returns middleware that reads the body of a message from S3, if the
// message has a pointer to it. The function's record, also that of
// [batch.RecordFrom], has the object's text as its body, and neither the attribute
// with its size nor SQS's digests, which are of the pointer.
//
// Without a handler there is none: what runs handlers refuses the nil that the
// middleware returns then.
func Unwrap(cfg Config) func(batch.Handler) batch.Handler {
	s := newStore(cfg, MaxBytes)
	return func(h batch.Handler) batch.Handler {
		if wrapped.IsNil(h) {
			return nil
		}
		return &unwrapper{store: s, next: h}
	}
}

type unwrapper struct {
	store *store
	next  batch.Handler
}

// Validate returns an error that names what is wrong with the configuration.
func (u *unwrapper) Validate() error {
	return cmp.Or(u.store.err, wrapped.Validate(u.next))
}

// Handle reads the body from S3, if it is there.
func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	p, found, err := pointerOf(&r)
	if err != nil {
		return err
	}
	if !found {
		return u.next.Handle(ctx, r)
	}
	messageID := r.MessageID
	body, err := u.store.text(ctx, p)
	if err != nil {
		return u.store.failed(ctx, messageID, err)
	}
	r = withoutPointer(r)
	r.Body = body
	if err := u.next.Handle(batch.WithRecord(ctx, r), r); err != nil {
		return err
	}
	u.store.succeeded(ctx, messageID, p)
	return nil
}

// withoutPointer is the record without what belongs to the pointer. Its attributes are a
// copy, since the record's own must not be changed.
func withoutPointer(r batch.Record) batch.Record {
	r.MD5OfBody, r.MD5OfMessageAttributes = "", ""
	if _, claimed := claimOf(r.MessageAttributes); claimed {
		r.MessageAttributes = maps.Clone(r.MessageAttributes)
		delete(r.MessageAttributes, sizeAttribute)
		delete(r.MessageAttributes, legacyAttribute)
	}
	return r
}

// failed is what an error of S3 makes of the record.
func (s *store) failed(ctx context.Context, messageID string, err error) error {
	if s.cfg.IgnoreMissing && errors.Is(err, errMissing) {
		s.warnings.tell(ctx, batch.Warning{
			Message:   "a message whose object in S3 is missing was taken for handled (Config.IgnoreMissing of package s3payload)",
			MessageID: messageID, Err: err,
		})
		return nil
	}
	return err
}

// deleteTimeout bounds what a success can be held up by.
const deleteTimeout = 5 * time.Second

// succeeded deletes the object, if that is wanted. It does so before the message is
// deleted: after that nothing here would know of it. It leaves it when the record's
// time is over: the success may have come too late, and the message again.
func (s *store) succeeded(ctx context.Context, messageID string, p pointer) {
	if !s.cfg.DeleteAfterSuccess || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := s.delete(limited, p); err != nil {
		s.warnings.tell(ctx, batch.Warning{
			Message:   "the object of a message that was handled could not be deleted from S3 (s3:DeleteObject); a lifecycle rule of the bucket would",
			MessageID: messageID, Err: fmt.Errorf("s3payload: delete the object from bucket %q: %w", p.Bucket, err),
		})
	}
}
