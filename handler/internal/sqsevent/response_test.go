package sqsevent_test

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler/internal/sqsevent"
)

func TestFailures_ListsEachIDOnceInOrder(t *testing.T) {
	result := func(id string, o batch.Outcome) batch.Result {
		return batch.Result{Record: &batch.Record{MessageID: id}, Outcome: o}
	}
	got := sqsevent.Failures([]batch.Result{
		result("c", batch.Retry), result("a", batch.Succeeded), result("b", batch.NotStarted), result("c", batch.Succeeded),
		result("d", batch.DeadLettered), result("e", batch.Dropped), result("b", batch.Retry), result("f", batch.Skipped), result("g", batch.Abandoned),
	})
	if want := []string{"c", "b", "f", "g"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if sqsevent.Failures(nil) == nil {
		t.Error("no failures are nil")
	}
}

func TestResponse_EncodesFailures(t *testing.T) {
	for want, ids := range map[string][]string{
		`{"batchItemFailures":[]}`: nil,
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"}]}`: {"a", "b"},
	} {
		if got := string(sqsevent.AppendResponse(nil, ids)); got != want {
			t.Errorf("%v: %s", ids, got)
		}
	}
}

// FuzzResponse holds the response against encoding/json: whatever the ids,
// they come out as they went in.
func FuzzResponse(f *testing.F) {
	f.Add("2e1424d4-f796-459a-8184-9c92662be6da", `a"b\c`)
	f.Add("\x00\x1f\x7f", "<é&\u2028>")
	f.Fuzz(func(t *testing.T, a, b string) {
		var got struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		if err := json.Unmarshal(sqsevent.AppendResponse(nil, []string{a, b}), &got); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{a, b} {
			if !utf8.ValidString(want) {
				want = string([]rune(want))
			}
			if got.BatchItemFailures[i].ItemIdentifier != want {
				t.Errorf("%q became %q", want, got.BatchItemFailures[i].ItemIdentifier)
			}
		}
	})
}
