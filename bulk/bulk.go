package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Config says how records are gathered. The zero value is good.
type Config struct {
	// MaxItems is how many records a chunk has at most, 1 to 10,000.
	// Defaults to 100.
	MaxItems int

	// MaxBytes is how many bytes the bodies of a chunk have at most, up to 1 GiB.
	// A record that has more is a chunk of its own. Defaults to 4 MiB.
	MaxBytes int

	// Linger is how long the first record of a chunk waits for others, up to
	// 1 min, and at most half of the time that it has. On Lambda it counts only
	// where middleware is slow: the records are there. Defaults to 50 ms.
	Linger time.Duration

	// Parallel is how many chunks are written at a time, 1 to 1,000: of a batch
	// on Lambda, of a queue in a container. Defaults to 2.
	Parallel int

	// DisallowUnknownFields makes a field that T does not have an error, for [JSON].
	DisallowUnknownFields bool

	// Unwrap is middleware between the engine and the decoding, such as
	// envelope/sns.Unwrap; batch.Chain makes one of several. It must pass its
	// context on. On a FIFO queue it is called twice for a record that is taken
	// into the chunk of one before it, the first time to see what is in it (the
	// handler returns an error then), and it must call its handler only once for
	// a record. Defaults to none.
	Unwrap func(batch.Handler) batch.Handler
}

const (
	defaultMaxItems = 100
	defaultMaxBytes = 4 << 20 // what Amazon Data Firehose takes in a call
	defaultLinger   = 50 * time.Millisecond
	defaultParallel = 2

	maxItems    = 10_000
	maxBytes    = 1 << 30
	maxLinger   = time.Minute
	maxParallel = 1000
)

// JSON makes a [batch.Handler] of a function that takes many records at once,
// their bodies decoded from JSON as by batch.JSON: one that cannot be decoded does
// not reach fn and fails with a [batch.MalformedError].
//
// What fn returns, unless nil, fails every item that was not failed by [Item.Fail];
// where it is permanent, or a panic, each half of them is tried alone, see the
// package. Without fn there is no handler: what runs handlers refuses the nil that
// JSON returns then, and a Config out of its bounds.
func JSON[T any](fn func(ctx context.Context, items []Item[T]) error, cfg Config) batch.Handler {
	return New(func(_ context.Context, r batch.Record) (v T, err error) {
		if bad := jsonbody.Decode(r.Body, &v, cfg.DisallowUnknownFields); bad != nil {
			return v, &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		return v, nil
	}, fn, cfg)
}

// New is [JSON] with a decoder of your own. An error of decode is its record's.
// decode may be called again for the same record, and before its turn on a FIFO
// queue; ctx is a record's, but for the record itself perhaps that of an earlier
// one of its group.
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

// handler writes records in chunks. It holds no record: what gathers is the
// batch's, or in a long poll the engine's, see scope.
type handler[T any] struct {
	decode func(context.Context, batch.Record) (T, error)
	fn     func(context.Context, []Item[T]) error
	cfg    Config
	unwrap batch.Handler // around inner; nil if there is none
	wrong  error         // with the configuration
}

// Validate is asked by what starts handlers.
func (h *handler[T]) Validate() error { return h.wrong }

// Concurrency is what the chunks need that are written at a time.
func (h *handler[T]) Concurrency() int { return h.cfg.MaxItems * h.cfg.Parallel }

func (c Config) withDefaults() Config {
	if c.MaxItems == 0 {
		c.MaxItems = defaultMaxItems
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	if c.Parallel == 0 {
		c.Parallel = defaultParallel
	}
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
