package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Config configures the chunks. The zero value is ready to use.
type Config struct {
	// MaxItems is the largest number of records in a chunk, 1 to 10,000. Defaults to 100.
	MaxItems int

	// MaxBytes is the largest total size of the bodies in a chunk, up to 1 GiB. A larger
	// record is a chunk of its own. Defaults to 4 MiB.
	MaxBytes int

	// Linger is how long the first record of a chunk waits for others, up to 1 min, and at
	// most half of the record's remaining time. On Lambda it has an effect only if middleware
	// is slow, since all records of the batch are available. Defaults to 50 ms.
	Linger time.Duration

	// Parallel is the number of chunks that are written at the same time, 1 to 1,000: for
	// each batch on Lambda, for each queue in a container. Defaults to 2.
	Parallel int

	// DisallowUnknownFields makes a field that T does not have an error, for [JSON]. Defaults
	// to false.
	DisallowUnknownFields bool

	// Unwrap is middleware that runs before a body is decoded, such as envelope/sns.Unwrap.
	// Combine several with batch.Chain. It must pass its context on, and must call its
	// handler only once for a record. Defaults to none.
	//
	// On a FIFO queue, the middleware runs before a record's turn if the record joins the
	// chunk of an earlier one. The context then has the record, but neither values nor the end
	// of the record's own context. If an earlier record fails, so that the turn does not come,
	// the inner handler returns an error, and the middleware runs again at the record's turn.
	Unwrap func(batch.Handler) batch.Handler
}

const (
	defaultMaxItems = 100
	defaultMaxBytes = 4 << 20 // the limit of one call to Amazon Data Firehose
	defaultLinger   = 50 * time.Millisecond
	defaultParallel = 2

	maxItems    = 10_000
	maxBytes    = 1 << 30
	maxLinger   = time.Minute
	maxParallel = 1000
)

// JSON returns a [batch.Handler] that passes many records to fn at once. Their bodies are
// decoded from JSON as by [batch.JSON]. A record whose body cannot be decoded fails with a
// [batch.MalformedError], and is not passed to fn.
//
// An error that fn returns fails every item that [Item.Fail] did not fail before. If the
// error is permanent or fn panics, the chunk is split; see "Failures" in the package
// comment.
//
// Functions that run handlers refuse the result if fn is nil or cfg is invalid.
func JSON[T any](fn func(ctx context.Context, items []Item[T]) error, cfg Config) batch.Handler {
	return New(func(_ context.Context, r batch.Record) (v T, err error) {
		if bad := jsonbody.Decode(r.Body, &v, cfg.DisallowUnknownFields); bad != nil {
			return v, &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		return v, nil
	}, fn, cfg)
}

// New is [JSON] with a decoder of your own. An error of decode fails its record. decode may be
// called several times for a record, and on a FIFO queue also before the record's turn. Its ctx
// then has the record ([batch.RecordFrom]), but neither values nor the end of the record's own
// context.
func New[T any](decode func(ctx context.Context, r batch.Record) (T, error), fn func(ctx context.Context, items []Item[T]) error, cfg Config) batch.Handler {
	if decode == nil || fn == nil {
		return nil
	}
	h := &handler[T]{decode: decode, fn: fn, cfg: cfg.withDefaults()}
	h.wrong = h.cfg.validate()
	if cfg.Unwrap != nil {
		h.unwrap = cfg.Unwrap(batch.HandlerFunc(h.inner))
		if h.unwrap == nil {
			h.wrong = errors.Join(h.wrong, errors.New("bulk: Unwrap returned nil, must return a handler"))
		}
	}
	return h
}

// handler writes records in chunks. Records are held by a scope, which belongs to a batch, or in
// a long poll to the engine.
type handler[T any] struct {
	decode func(context.Context, batch.Record) (T, error)
	fn     func(context.Context, []Item[T]) error
	cfg    Config
	unwrap batch.Handler // wraps inner; nil without Config.Unwrap
	wrong  error         // of the configuration
}

// Validate returns the error of the configuration.
func (h *handler[T]) Validate() error { return h.wrong }

// Concurrency returns the number of records in all chunks that may be written at the same
// time.
func (h *handler[T]) Concurrency() int { return h.cfg.MaxItems * h.cfg.Parallel }

func (c Config) withDefaults() Config {
	c.MaxItems = cmp.Or(c.MaxItems, defaultMaxItems)
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.Linger = cmp.Or(c.Linger, defaultLinger)
	c.Parallel = cmp.Or(c.Parallel, defaultParallel)
	return c
}

func (c *Config) validate() error {
	var errs []error
	for _, n := range []struct {
		name        string
		value, most int
	}{
		{"MaxItems", c.MaxItems, maxItems},
		{"MaxBytes", c.MaxBytes, maxBytes},
		{"Parallel", c.Parallel, maxParallel},
	} {
		if n.value < 1 || n.value > n.most {
			errs = append(errs, fmt.Errorf("bulk: %s is %d, must be 1 to %d", n.name, n.value, n.most))
		}
	}
	if c.Linger < 0 || c.Linger > maxLinger {
		errs = append(errs, fmt.Errorf("bulk: Linger is %v, must be 0 to %v", c.Linger, maxLinger))
	}
	return errors.Join(errs...)
}

// Item is one of the records that a call of the function writes.
type Item[T any] struct {
	// Value is the decoded body.
	Value T
	// Record is the message. Its map and slices are shared and must not be changed.
	Record batch.Record

	verdict *verdict // nil if a test or the function made the item itself
}

// Fail fails this record, as if the handler of a single record had returned err. err may
// have any verb, and is a failure even if it is nil. Only the first call counts, and only
// before the function returns. Fail may be called from any goroutine.
//
// Change an item's Value in place, or copy the item. If the function puts a new item into the
// slice, call Fail of that element: it fails the record with the same message id, or in the same
// place if the item's Record is empty. Fail of any other item that the function made has no
// effect.
func (i *Item[T]) Fail(err error) {
	if i.verdict == nil {
		i.verdict = &verdict{loose: true}
	}
	i.verdict.set(cmp.Or(err, errFailed), false)
}

// Err returns the error of [Item.Fail], or nil.
func (i *Item[T]) Err() error {
	if i.verdict == nil {
		return nil
	}
	return i.verdict.get()
}

// Context returns a context for work on some items of a call. It ends with ctx, the context of
// the function.
//
// For one item, the context has the values of its record's context: [batch.RecordFrom] returns
// the record, and a trace's span is the record's, unless the record is behind another one in
// its FIFO group. Pass it to Sender.Begin.
//
// For any number of items, the context has their claims of package idempotency. InTx of
// idempotency/sqlstore completes the claims of items that have not failed, in the transaction
// of their work:
//
//	err := store.InTx(bulk.Context(ctx, items...), func(tx *sql.Tx) error {
//		return insert(ctx, tx, items)
//	})
func Context[T any](ctx context.Context, items ...Item[T]) context.Context {
	c := &itemsContext{Context: ctx, items: make([]ctxkey.Item, len(items))}
	for i, item := range items { // a copy: the function may reorder its slice
		own := batch.WithRecord(ctx, item.Record) // for a record behind another, or an item made by the function
		if item.verdict != nil && item.verdict.ctx != nil {
			own = item.verdict.ctx
		}
		c.items[i] = ctxkey.Item{Context: own, Err: item.Err}
	}
	return c
}

// itemsContext is a context for items of a chunk.
type itemsContext struct {
	context.Context
	items []ctxkey.Item
}

// Value hides the runner, because a handler that the function calls is not the record's
// handler, and the record's Sends, because the call may be repeated for a half.
func (c *itemsContext) Value(key any) any {
	switch key.(type) {
	case ctxkey.Items:
		return c.items
	case ctxkey.Runner, ctxkey.Sends, ctxkey.Claim:
		return nil
	}
	if len(c.items) == 1 {
		return c.items[0].Context.Value(key)
	}
	return c.Context.Value(key)
}

// AfterFunc saves a goroutine for contexts derived from c, see ctxkey.With.
func (c *itemsContext) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }

var errFailed = errors.New("bulk: the item was failed without an error")

// verdict is the outcome of a record.
type verdict struct {
	ctx   context.Context // of the record's own Handle; nil if the record is behind another in its FIFO group
	loose bool            // of an item that this package did not make

	mu     sync.Mutex
	err    error
	sealed bool // the function has returned
}

// set sets the error, unless there is one or the verdict is sealed. seal seals the verdict.
func (v *verdict) set(err error, seal bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil && !v.sealed {
		v.err = err
	}
	v.sealed = v.sealed || seal
}

func (v *verdict) get() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}
