package batch_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestVerbsWrap(t *testing.T) {
	for _, err := range []error{
		batch.Permanent(io.EOF),
		batch.RetryAfter(time.Second, io.EOF),
		fmt.Errorf("while shipping: %w", batch.Permanent(io.EOF)),
		errors.Join(errors.New("other"), batch.RetryAfter(time.Second, io.EOF)),
	} {
		if !errors.Is(err, io.EOF) {
			t.Errorf("%v does not unwrap", err)
		}
	}
}

func TestVerbsOfNilAreFailures(t *testing.T) {
	if err := batch.Permanent(nil); err == nil || err.Error() != "permanent failure" {
		t.Errorf("Permanent(nil): %v", err)
	}
	if err := batch.RetryAfter(30*time.Second, nil); err == nil || err.Error() != "retry after 30s" {
		t.Errorf("RetryAfter(nil): %v", err)
	}
}

func TestRetryAfterIsNeverNegative(t *testing.T) {
	if v := batch.VerdictOf(batch.RetryAfter(-time.Second, io.EOF)); !v.HasAfter || v.After != 0 {
		t.Errorf("%+v", v)
	}
}

func TestVerdictOf_Permanent(t *testing.T) {
	for err, want := range map[error]bool{
		io.EOF:                                    false,
		batch.RetryAfter(0, io.EOF):               false,
		batch.Permanent(io.EOF):                   true,
		&batch.MalformedError{Reason: "x"}:        true,
		fmt.Errorf("x: %w", batch.Permanent(nil)): true,
		errors.Join(batch.RetryAfter(0, nil), batch.Permanent(nil)): true,
		&batch.PanicError{Value: batch.Permanent(io.EOF)}:           true,
		&batch.PanicError{Value: "text"}:                            false,
	} {
		if got := batch.VerdictOf(err).Permanent; got != want {
			t.Errorf("VerdictOf(%v).Permanent = %v", err, got)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for o, want := range map[batch.Outcome]string{
		batch.Pending: "pending", batch.Succeeded: "succeeded", batch.Retry: "retry", batch.DeadLettered: "dead-letter", batch.Dropped: "dropped",
		batch.NotStarted: "not-started", batch.Skipped: "skipped", batch.Abandoned: "abandoned", batch.Abandoned + 1: "unknown",
	} {
		if got := o.String(); got != want {
			t.Errorf("%d: %q, want %q", o, got, want)
		}
		if done := want == "succeeded" || want == "dead-letter" || want == "dropped"; o.Done() != done {
			t.Errorf("%s: done %v", want, o.Done())
		}
	}
}
