package idempotency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/words"
)

// MaxResult is the size of the largest result that is kept, in bytes of JSON. Larger ones
// cost writes, and a DynamoDB item holds 400 KB.
const MaxResult = 64 << 10

// Keep keeps v as JSON together with the completion of the record whose handler calls it,
// for its duplicates, see [Config.OnDuplicate]. The last call counts. It returns an error
// when v cannot be marshaled, is larger than [MaxResult], or ctx is not of a handler that
// [New] has wrapped, or the record's work was committed before ([Held]): nothing was kept
// then, and nothing is stored yet. In a chunk of package bulk, ctx must be from bulk.Context
// for one item.
func Keep(ctx context.Context, v any) error {
	claims := claimsOf(ctx)
	if len(claims) != 1 || claims[0].work == nil {
		return errors.New("idempotency: the context is not of a handler with a claimed key; in a chunk of package bulk, make one for the item with bulk.Context")
	}
	if claims[0].commit.Load() == committed {
		return errors.New("idempotency: the work of this record was committed before: call Keep before that")
	}
	result, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("idempotency: keeping a result: %w", err)
	}
	if len(result) > MaxResult {
		return fmt.Errorf("idempotency: the result has %d bytes of JSON, at most %d can be kept", len(result), MaxResult)
	}
	claims[0].result = result
	return nil
}

// A FailedError says that the work of a record failed permanently before, and that
// [Config.KeepPermanent] has kept this. It is in the error of a record whose key was completed so:
// as a duplicate, or, if the record is the one that failed, as a permanent failure.
type FailedError struct {
	// Text is the text of the first failure, its first 1,000 bytes.
	Text string

	verb error // batch.ErrDuplicate for a duplicate
}

func (e *FailedError) Error() string {
	return "idempotency: the work failed permanently before, and this is kept: " + e.Text
}

func (e *FailedError) Unwrap() error { return e.verb }

// failure is what is kept of a record that failed permanently.
type failure struct {
	MessageID string `json:"failed"`
	Text      string `json:"error"`
}

// failureBegin is how a kept failure begins. It is JSON, so that Powertools can read it, and
// begins with a blank, which no marshaled result does.
const failureBegin = ` {"failed":"`

// maxFailure is the length of the text that is kept of a failure.
const maxFailure = 1000

// kept returns what the store has of f.
func (f failure) kept() []byte {
	f.Text = words.Shorten(f.Text, maxFailure)
	text, _ := json.Marshal(f) // two strings
	return append([]byte(" "), text...)
}

// failureIn reads what kept has written, and reports whether it has.
func failureIn(result []byte) (f failure, failed bool) {
	failed = bytes.HasPrefix(result, []byte(failureBegin)) && json.Unmarshal(result, &f) == nil
	return f, failed
}

// Kept makes a [Config.OnDuplicate] of a function that takes what [Keep] was given. It is
// not called when nothing was kept.
func Kept[T any](fn func(ctx context.Context, v T) error) func(context.Context, batch.Record, []byte) error {
	return func(ctx context.Context, _ batch.Record, result []byte) error {
		if result == nil {
			return nil
		}
		var v T
		if err := json.Unmarshal(result, &v); err != nil {
			runner.Warn(ctx, batch.Warning{Message: fmt.Sprintf("the result that was kept for the record is not a %T: the duplicate is deleted without it", v)})
			return nil
		}
		return fn(ctx, v)
	}
}
