package log_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const page = "../../docs/observability/log.md"

// The page lists every field that is written, for the lines that have it, and no other.
func TestThePageHasTheFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panicked := &batch.PanicError{Value: &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, Stack: []byte("goroutine 1")}
		all := batch.Result{
			Record: &batch.Record{
				MessageID: "m", QueueARN: ordersARN, Attempt: 2, Body: "a body",
				SentAt: time.Now().Add(-time.Hour), FirstReceivedAt: time.Now().Add(-time.Minute),
			},
			Started: time.Now().Add(-time.Second), Duration: time.Second, Allowed: time.Minute, VisibleIn: time.Second, VisibilitySet: true,
			DeadLetterQueue: "https://sqs/1/dead", MaxReceiveCount: 5, Err: panicked,
		}
		var results []batch.Result
		for o := batch.Succeeded; o <= batch.Abandoned; o++ {
			for range log.MaxLines + 1 {
				r := all
				r.Outcome = o
				results = append(results, r)
			}
		}
		info := batch.BatchInfo{QueueARN: ordersARN, Started: time.Now(), Deadline: time.Now().Add(time.Minute)}
		tell := func(h batch.Hooks) {
			h.BatchSettled(t.Context(), info, results)
			for range log.MaxLines + 1 {
				h.Warned(t.Context(), batch.Warning{Message: "look here", MessageID: "m", Queue: "orders", Err: panicked})
			}
			h.Flush(context.Background())
		}
		lines := written(t, slog.LevelDebug, log.Config{BodyBytes: 3}, tell)
		lines = append(lines, written(t, slog.LevelDebug, log.Config{BodyBytes: 3, Every: time.Minute}, tell)...)

		got := map[string]map[string]bool{}
		for _, line := range lines {
			kind := fmt.Sprint(line["msg"])
			if kind == "look here" {
				kind = "warning"
			}
			if got[kind] == nil {
				got[kind] = map[string]bool{}
			}
			for field := range line {
				if field != "level" && field != "msg" && field != "logger" {
					got[kind][field] = true
				}
			}
		}
		want := docpage.Fields(t, page, "log fields")
		if len(got) != len(want) {
			t.Errorf("lines of %d kinds, the page has %d", len(got), len(want))
		}
		for kind, fields := range want {
			slices.Sort(fields)
			if written := slices.Sorted(maps.Keys(got[kind])); !slices.Equal(written, fields) {
				t.Errorf("%s: written are %v\nthe page has %v", kind, written, fields)
			}
		}
	})
}

// The lines that the page shows have fields of its list, and none that is not in it.
func TestThePageShowsLinesOfTheseFields(t *testing.T) {
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(docpage.Read(t, page))
	if block == nil {
		t.Fatal("the page shows no lines")
	}
	fields := docpage.Fields(t, page, "log fields")
	for line := range strings.Lines(block[1]) {
		var shown map[string]any
		if err := json.Unmarshal([]byte(line), &shown); err != nil {
			t.Fatal(err)
		}
		for name := range shown {
			if kind := fmt.Sprint(shown["message"]); !slices.Contains([]string{"timestamp", "level", "message", "logger", "requestId"}, name) && !slices.Contains(fields[kind], name) {
				t.Errorf("a line of the kind %q has no field %s", kind, name)
			}
		}
	}
}
