package s3payload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap returns middleware that reads the body of a message from S3, if the message has a
// pointer. The handler's record, also from [batch.RecordFrom], has the object's text as its
// body. It has neither the attribute with the size nor SQS's digests, which are of the pointer.
//
// The middleware returns nil if its handler is nil.
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

// Validate reports an invalid configuration.
func (u *unwrapper) Validate() error {
	return cmp.Or(u.store.err, wrapped.Validate(u.next))
}

// Handle passes on the record, with the body from S3 if the record has a pointer.
func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	p, found, err := s3body.PointerOf(&r)
	if err != nil {
		return err
	}
	if !found {
		return u.next.Handle(ctx, r)
	}
	body, err := u.store.text(ctx, p)
	if err != nil {
		return u.store.failed(ctx, r.MessageID, err)
	}
	r = withoutPointer(r)
	r.Body = body
	err = u.next.Handle(batch.WithRecord(ctx, r), r)
	if err == nil || batch.VerdictOf(err).Outcome.OK() {
		u.store.succeeded(ctx, r.MessageID, p)
	}
	return err
}

// withoutPointer returns the record without the pointer's attribute and digests. It copies the
// attributes, since the record's map is shared.
func withoutPointer(r batch.Record) batch.Record {
	r.MD5OfBody, r.MD5OfMessageAttributes = "", ""
	if _, claimed := s3body.ClaimOf(r.MessageAttributes); claimed {
		r.MessageAttributes = maps.Clone(r.MessageAttributes)
		delete(r.MessageAttributes, s3body.SizeAttribute)
		delete(r.MessageAttributes, s3body.LegacyAttribute)
	}
	return r
}

// failed turns an error of S3 into the record's error.
func (s *store) failed(ctx context.Context, messageID string, err error) error {
	if s.cfg.IgnoreMissing && errors.Is(err, errMissing) {
		s.warnings.warn(ctx, batch.Warning{
			Message:   "a message was taken as handled before, because its object is missing in S3 (Config.IgnoreMissing of package s3payload)",
			MessageID: messageID, Err: err,
		})
		return nil
	}
	return err
}

// deleteTimeout is the longest delay of a success.
const deleteTimeout = 5 * time.Second

// succeeded deletes the object, if Config.DeleteAfterSuccess is set. It does so before the
// message is deleted, because the pointer is not available afterwards. After the end of ctx it
// keeps the object: the success may have come too late, and the message may be delivered again.
func (s *store) succeeded(ctx context.Context, messageID string, p s3body.Pointer) {
	if !s.cfg.DeleteAfterSuccess || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := s.delete(limited, p); err != nil {
		s.warnings.warn(ctx, batch.Warning{
			Message:   "the object of a message that was handled could not be deleted from S3: the role needs s3:DeleteObject. Give the bucket a lifecycle rule for such objects",
			MessageID: messageID, Err: fmt.Errorf("s3payload: delete the object from bucket %q: %w", p.Bucket, err),
		})
	}
}

// every is the shortest interval of a repeated warning: a missing permission affects every
// record.
const every = time.Minute

// warnings passes on problems that must not fail a record.
type warnings struct {
	hook func(ctx context.Context, w batch.Warning)

	mu      sync.Mutex
	last    map[string]time.Time // by message
	skipped map[string]int       // warnings since last, by message
}

// warn calls the hook, at most once in every for the same message.
func (w *warnings) warn(ctx context.Context, warning batch.Warning) {
	if skipped, due := w.due(warning.Message); due {
		if skipped > 0 {
			warning.Message += fmt.Sprintf("; %d more of these since the last line", skipped)
		}
		defer func() { _ = recover() }() // a panic of the hook must not fail the record
		w.hook(ctx, warning)
	}
}

func (w *warnings) due(message string) (skipped int, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if last, warned := w.last[message]; warned && now.Sub(last) < every {
		w.skipped[message]++
		return 0, false
	}
	if w.last == nil {
		w.last, w.skipped = map[string]time.Time{}, map[string]int{}
	}
	skipped = w.skipped[message]
	w.last[message], w.skipped[message] = now, 0
	return skipped, true
}
