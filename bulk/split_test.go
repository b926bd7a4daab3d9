package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// An error for good of a call for many is about one of them: the others are no
// dead letters with it. So is a panic.
func TestOneRecordTakesNoOtherAlong(t *testing.T) {
	const n, poison = 20, 7
	for name, end := range map[string]func() error{
		"a verb":       func() error { return batch.Permanent(errors.New("refused")) },
		"a classifier": func() error { return errors.New("ValidationException") },
		"a panic":      func() error { panic("oops") },
	} {
		calls, most := 0, 0
		h := bulk.JSON(func(_ context.Context, items []bulk.Item[int]) error {
			calls++
			most = max(most, len(items))
			if slices.ContainsFunc(items, func(it bulk.Item[int]) bool { return it.Value == poison }) {
				return end()
			}
			return nil
		}, bulk.Config{})
		engine, err := runner.New(h, batch.Config{Classify: batch.Permanent})
		if err != nil {
			t.Fatal(err)
		}
		records := make([]batch.Record, n)
		for i := range records {
			records[i] = batch.Record{MessageID: fmt.Sprint(i), Body: fmt.Sprint(i)}
		}
		for i, r := range engine.Run(t.Context(), records, batch.Times{}, nil) {
			if (i == poison) != (r.Err != nil) {
				t.Errorf("%s: record %d: %v", name, i, r.Err)
			}
			if i == poison && name != "a panic" && !batch.VerdictOf(r.Err).Permanent {
				t.Errorf("%s: the record itself is not refused for good: %v", name, r.Err)
			}
		}
		if most != n || calls > 11 { // 20, 10, 10, 5, 5, 2, 3, 1, 2, 1, 1
			t.Errorf("%s: %d calls, the largest of %d", name, calls, most)
		}
	}
}
