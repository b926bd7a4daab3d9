package bulk

import (
	"errors"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Item is a record among those that are written at once.
type Item[T any] struct {
	// Value is the decoded body.
	Value T
	// Record is the message; its map and slices are shared and must not be changed.
	Record batch.Record

	verdict *verdict // nil in a test that made the item itself
}

// Fail fails this record, as if a handler of one record had returned err: any
// verb counts, and nil is a failure as well. The first call counts; one after the
// function has returned changes nothing. It may be called from any goroutine.
func (i *Item[T]) Fail(err error) {
	if i.verdict == nil {
		i.verdict = new(verdict)
	}
	i.verdict.fail(err)
}

// Err returns what the item was failed with so far, or nil: for tests of
// functions, which make their items themselves.
func (i *Item[T]) Err() error {
	if i.verdict == nil {
		return nil
	}
	return i.verdict.get()
}

var errFailed = errors.New("bulk: the item was failed without an error")

// verdict is what became of a record.
type verdict struct {
	mu     sync.Mutex
	err    error
	sealed bool // the function has returned
}

func (v *verdict) fail(err error) {
	if err == nil {
		err = errFailed
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil && !v.sealed {
		v.err = err
	}
}

func (v *verdict) get() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// seal ends what may be said, with the error of the whole call. The first counts.
func (v *verdict) seal(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil && !v.sealed {
		v.err = err
	}
	v.sealed = true
}
