package bulk

import (
	"cmp"
	"errors"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Item is one of the records that a call of the function writes.
type Item[T any] struct {
	// Value is the decoded body.
	Value T
	// Record is the message. Its map and slices are shared and must not be changed.
	Record batch.Record

	verdict *verdict // nil if a test made the item itself
}

// Fail fails this record, as if the handler of a single record had returned err. err may
// have any verb, and is a failure even if it is nil. Only the first call counts, and only
// before the function returns. Fail may be called from any goroutine.
func (i *Item[T]) Fail(err error) {
	if i.verdict == nil {
		i.verdict = new(verdict)
	}
	i.verdict.set(cmp.Or(err, errFailed), false)
}

// Err returns the error with which the item was failed so far, or nil. It is for tests of
// functions, which make their own items.
func (i *Item[T]) Err() error {
	if i.verdict == nil {
		return nil
	}
	return i.verdict.get()
}

var errFailed = errors.New("bulk: the item was failed without an error")

// verdict is the outcome of a record.
type verdict struct {
	mu     sync.Mutex
	err    error
	sealed bool // the function has returned
}

// set sets the error, unless there is one or the verdict is sealed. After seal, no call has
// an effect.
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
