package batch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// asking is a handler with the optional methods.
type asking struct {
	batch.HandlerFunc
	err error
	n   int
}

func (a asking) Validate() error  { return a.err }
func (a asking) Concurrency() int { return a.n }

// counting is a handler with one of them.
type counting struct {
	batch.HandlerFunc
	n int
}

func (c counting) Concurrency() int { return c.n }

// Middleware hides no optional method of the handler inside it, and its own comes first.
func TestChain_KeepsOptionalMethods(t *testing.T) {
	plain := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	inner, outer := errors.New("inner"), errors.New("outer")
	hides := func(h batch.Handler) batch.Handler { return batch.HandlerFunc(h.Handle) }
	asks := func(a asking) func(batch.Handler) batch.Handler {
		return func(h batch.Handler) batch.Handler { a.HandlerFunc = h.Handle; return a }
	}
	for name, tt := range map[string]struct {
		chain batch.Handler
		err   error
		n     int
	}{
		"neither":                     {batch.Chain(plain, hides), nil, 0},
		"the handler's":               {batch.Chain(asking{plain, inner, 3}, hides), inner, 3},
		"the handler's concurrency":   {batch.Chain(counting{plain, 4}, hides, hides), nil, 4},
		"the middleware's":            {batch.Chain(plain, asks(asking{err: outer, n: 5})), outer, 5},
		"the middleware's come first": {batch.Chain(asking{plain, inner, 3}, hides, asks(asking{err: outer, n: 5})), outer, 5},
		"each has one":                {batch.Chain(counting{plain, 4}, asks(asking{err: outer})), outer, 4},
	} {
		if err, n := wrapped.Validate(tt.chain), wrapped.Concurrency(tt.chain); !errors.Is(err, tt.err) || n != tt.n {
			t.Errorf("%s: Validate returns %v and Concurrency %d, want %v and %d", name, err, n, tt.err, tt.n)
		}
	}
	if h := batch.Chain(nil, hides); h != nil {
		t.Errorf("a chain around nil is %v", h)
	}
}
