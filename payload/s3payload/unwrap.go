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
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap returns middleware that reads the body of a message from S3, if the message has a
// pointer to it. The function's record, also that of [batch.RecordFrom], has the object's
// text as its body. It has neither the attribute with the size nor SQS's digests, which are
// those of the pointer.
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

// withoutPointer returns the record without the pointer's attribute and digests. The
// attributes are a copy, since the record's own must not be changed.
func withoutPointer(r batch.Record) batch.Record {
	r.MD5OfBody, r.MD5OfMessageAttributes = "", ""
	if _, claimed := claimOf(r.MessageAttributes); claimed {
		r.MessageAttributes = maps.Clone(r.MessageAttributes)
		delete(r.MessageAttributes, sizeAttribute)
		delete(r.MessageAttributes, legacyAttribute)
	}
	return r
}

// failed turns an error of S3 into the record's error.
func (s *store) failed(ctx context.Context, messageID string, err error) error {
	if s.cfg.IgnoreMissing && errors.Is(err, errMissing) {
		s.warnings.tell(ctx, batch.Warning{
			Message:   "a message was taken as handled before, because its object is missing in S3 (Config.IgnoreMissing of package s3payload)",
			MessageID: messageID, Err: err,
		})
		return nil
	}
	return err
}

// deleteTimeout limits how long a success can be delayed.
const deleteTimeout = 5 * time.Second

// succeeded deletes the object, if that is configured. It does so before the message is
// deleted, because the object is not known afterwards. If the record's time is over, it
// keeps the object: the success may have come too late, and the message may come again.
func (s *store) succeeded(ctx context.Context, messageID string, p pointer) {
	if !s.cfg.DeleteAfterSuccess || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := s.delete(limited, p); err != nil {
		s.warnings.tell(ctx, batch.Warning{
			Message:   "the object of a message that was handled could not be deleted from S3: the role needs s3:DeleteObject. Give the bucket a lifecycle rule for such objects",
			MessageID: messageID, Err: fmt.Errorf("s3payload: delete the object from bucket %q: %w", p.Bucket, err),
		})
	}
}

// every is how often a warning is repeated: a missing permission affects every record.
const every = time.Minute

// warnings passes on problems that must not fail a record.
type warnings struct {
	hook func(ctx context.Context, w batch.Warning)

	mu     sync.Mutex
	last   map[string]time.Time // by message
	untold map[string]int
}

func (w *warnings) tell(ctx context.Context, warning batch.Warning) {
	if untold, due := w.due(warning.Message); due {
		if untold > 0 {
			warning.Message += fmt.Sprintf("; %d more of these since the last line", untold)
		}
		defer func() { _ = recover() }() // a panic of the hook must not fail the record
		w.hook(ctx, warning)
	}
}

func (w *warnings) due(message string) (untold int, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if last, told := w.last[message]; told && now.Sub(last) < every {
		w.untold[message]++
		return 0, false
	}
	if w.last == nil {
		w.last, w.untold = map[string]time.Time{}, map[string]int{}
	}
	untold = w.untold[message]
	w.last[message], w.untold[message] = now, 0
	return untold, true
}
