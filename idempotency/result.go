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

// MaxResult is the largest size of a result, in bytes of JSON. Larger results cost more write
// units, and a DynamoDB item is limited to 400 KB.
const MaxResult = 64 << 10

// Keep sets v, as JSON, as the result of the calling handler's record. The result is stored
// with the completion, for duplicates, see [Config.OnDuplicate]. The last call counts. In a
// chunk of package bulk, ctx must be from bulk.Context for one item.
//
// Keep returns an error, and does not change the result, when v cannot be marshaled or is larger
// than [MaxResult], when ctx is not from a handler wrapped by [New], or when the record's work
// was committed before ([Held]).
func Keep(ctx context.Context, v any) error {
	claims := claimsOf(ctx)
	if len(claims) != 1 || claims[0].work == nil {
		return errors.New("idempotency: the context is not from a handler with a claimed key; in a chunk of package bulk, use bulk.Context for the item")
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

// FailedError is returned, wrapped or not, when the work of a record failed permanently before
// and [Config.KeepPermanent] kept the failure. A duplicate has it with [batch.ErrDuplicate];
// another delivery of the failed record itself has it as a permanent failure.
type FailedError struct {
	// Text is the text of the first failure, its first 1,000 bytes.
	Text string

	verb error // batch.ErrDuplicate for a duplicate
}

func (e *FailedError) Error() string {
	return "idempotency: the work failed permanently before, and this is kept: " + e.Text
}

func (e *FailedError) Unwrap() error { return e.verb }

// failure is the stored form of a permanent failure.
type failure struct {
	MessageID string `json:"failed"`
	Text      string `json:"error"`
}

// failureBegin is the beginning of a stored failure. It is JSON, so that Powertools can read
// it, after a blank, with which no marshaled result begins.
const failureBegin = ` {"failed":"`

// maxFailure is the largest length of a failure's stored text, in bytes.
const maxFailure = 1000

// kept returns the stored form of f.
func (f failure) kept() []byte {
	f.Text = words.Shorten(f.Text, maxFailure)
	text, _ := json.Marshal(f) // never fails
	return append([]byte(" "), text...)
}

// failureIn decodes a failure that kept encoded. It reports false for any other result.
func failureIn(result []byte) (f failure, failed bool) {
	failed = bytes.HasPrefix(result, []byte(failureBegin)) && json.Unmarshal(result, &f) == nil
	return f, failed
}

// Kept returns a function for [Config.OnDuplicate] that calls fn with the value that was passed
// to [Keep]. It does not call fn if nothing was kept.
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
