package sqsevent_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler/internal/sqsevent"
)

func result(id string, o batch.Outcome) batch.Result {
	return batch.Result{Record: &batch.Record{MessageID: id}, Outcome: o}
}

func TestResponse_ListsEachFailureOnceInOrder(t *testing.T) {
	for want, results := range map[string][]batch.Result{
		`{"batchItemFailures":[]}`: nil,
		`{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"b"},{"itemIdentifier":"f"},{"itemIdentifier":"g"}]}`: {
			result("c", batch.Retry), result("a", batch.Succeeded), result("b", batch.NotStarted), result("c", batch.Succeeded), result("d", batch.DeadLettered),
			result("e", batch.Dropped), result("b", batch.Retry), result("f", batch.Skipped), result("g", batch.Abandoned)},
	} {
		got, n := sqsevent.Response(results)
		if string(got) != want || n != len(results)/2 {
			t.Errorf("%s with %d items, want %s", got, n, want)
		}
	}
}

// FuzzResponse holds the response against encoding/json: whatever the ids,
// they come out as they went in.
func FuzzResponse(f *testing.F) {
	f.Add("2e1424d4-f796-459a-8184-9c92662be6da", `a"b\c`)
	f.Add("\x00\x1f\x7f", "<é&\u2028>")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b {
			return
		}
		var got struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		response, _ := sqsevent.Response([]batch.Result{result(a, batch.Retry), result(b, batch.Retry)})
		if err := json.Unmarshal(response, &got); err != nil {
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
