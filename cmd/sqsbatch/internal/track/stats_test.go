package track_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// record returns a final record of an invocation.
func record(outcome string, duration, allowed, age time.Duration, attempt int) track.Record {
	return track.Record{Invocation: 1, Outcome: outcome, Duration: duration, Allowed: allowed, Age: age, Attempt: attempt, Final: true}
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		data, _ := json.Marshal(got)
		expected, _ := json.Marshal(want)
		t.Errorf("%s:\n got %s\nwant %s", what, data, expected)
	}
}

func TestRecordsAndInvocations(t *testing.T) {
	stats := track.NewStats(10 * time.Second)
	live := record(track.Succeeded, time.Second, 2*time.Second, time.Minute, 1)
	live.Final = false // emitted again when final
	for _, f := range []track.Event{
		track.Started{Bodies: []string{"a", "b", "c"}, ColdStart: true},
		live,
		record(track.Succeeded, time.Second, 2*time.Second, time.Minute, 1),
		record(track.Retry, 3*time.Second, 4*time.Second, time.Hour, 3),
		record(track.Skipped, -1, -1, -1, 1),
		track.Ended{Duration: 5 * time.Second},
		track.Started{Bodies: []string{"b"}},
		track.Ended{Duration: 10 * time.Second, Error: "timed out"},
		track.Record{Outcome: track.DeadLetter, Attempt: 5, Duration: -1, Age: time.Hour, Final: true}, // by SQS
		track.Record{Outcome: track.Filtered, Attempt: 1, Duration: -1, Age: time.Hour, Final: true},
		track.Warning{}, track.Warning{Serious: true},
	} {
		if stats.Event(f) {
			t.Errorf("%+v is a line of metrics", f)
		}
	}
	r := stats.Report(track.Run{Elapsed: 1500 * time.Millisecond})
	check(t, "outcomes", r.Outcomes, map[string]int{
		"succeeded": 1, "duplicate": 0, "expired": 0, "retry": 1, "in-progress": 0, "skipped": 1, "dead-letter": 0, "dropped": 0, "not-started": 0, "abandoned": 0, "lost": 0, "cut-off": 0,
	})
	check(t, "numbers", []int{r.Handled, r.Redriven, r.Warnings, r.SeriousWarnings, r.Requests}, []int{3, 1, 2, 1, 0})
	check(t, "duration", r.DurationMs, &track.Distribution{Count: 2, Sum: 4000, Min: 1000, P50: 1000, P90: 3000, P99: 3000, Max: 3000})
	check(t, "deadline", r.DeadlineUsedPercent, &track.Distribution{Count: 2, Sum: 125, Min: 50, P50: 50, P90: 75, P99: 75, Max: 75})
	check(t, "attempts", r.Attempts, &track.Distribution{Count: 3, Sum: 5, Min: 1, P50: 1, P90: 3, P99: 3, Max: 3})
	check(t, "age", r.AgeMs, &track.Distribution{Count: 2, Sum: 3_660_000, Min: 60_000, P50: 60_000, P90: 3_600_000, P99: 3_600_000, Max: 3_600_000})
	check(t, "invocations", r.Invocations, &track.Invocations{
		Count: 2, ColdStarts: 1, Errors: 1,
		Records:            &track.Distribution{Count: 2, Sum: 4, Min: 1, P50: 1, P90: 3, P99: 3, Max: 3},
		DurationMs:         &track.Distribution{Count: 2, Sum: 15_000, Min: 5000, P50: 5000, P90: 10_000, P99: 10_000, Max: 10_000},
		TimeoutUsedPercent: &track.Distribution{Count: 2, Sum: 150, Min: 50, P50: 50, P90: 100, P99: 100, Max: 100},
	})
	if r.Mode != "lambda" || r.ElapsedMs != 1500 || r.Processes != nil || r.EMF != nil {
		t.Errorf("%+v", r)
	}
	r = track.NewStats(0).Report(track.Run{Poll: true, Starts: 3, Crashes: 1})
	if r.Mode != "poll" || r.Invocations != nil || *r.Processes != (track.Processes{Starts: 3, Crashes: 1}) || r.DurationMs != nil {
		t.Errorf("%+v", r)
	}
}

// Calls count from Begin on, except this tool's.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stats := track.NewStats(0)
		call := func(operation string, messages, failed int, err string) {
			stats.Call(sqs.Call{Began: time.Now(), Operation: operation, Messages: messages, Failed: failed, Error: err})
		}
		call("SendMessage", 1, 0, "")
		early := time.Now()
		time.Sleep(time.Second)
		stats.Begin()
		stats.Call(sqs.Call{Began: early, Operation: "CreateQueue"}) // reported late
		stats.Own("ReceiveMessage", early)
		call("SendMessage", 1, 0, "")
		stats.Own("SendMessage", time.Now())
		call("SendMessageBatch", 2, 1, "")
		call("ReceiveMessage", 10, 0, "")
		call("ReceiveMessage", 0, 0, "OverLimit")
		call("ReceiveMessage", 0, 0, "no answer")
		r := stats.Report(track.Run{})
		check(t, "calls", r.Calls, map[string]track.Calls{"SendMessageBatch": {1, 2, 1, 0}, "ReceiveMessage": {3, 10, 0, 1}})
		if r.Requests != 4 {
			t.Errorf("%d requests, want 4", r.Requests)
		}
	})
}

func TestEMF(t *testing.T) {
	stats := track.NewStats(0)
	for line, want := range map[string]bool{
		`{"_aws":{"CloudWatchMetrics":[{"Namespace":"mine","Metrics":[{"Name":"A","Unit":"Count"},{"Name":"Missing"}]},{"Namespace":"other","Metrics":[{"Name":"A"}]}]},"A":3}`:             true,
		`{"_aws":{"CloudWatchMetrics":[{"Namespace":"mine","Metrics":[{"Name":"B","Unit":"Seconds"}]}]},"B":[1,2,2.5]}`:                                                                     true,
		`{"_aws":{"CloudWatchMetrics":[{"Namespace":"mine","Metrics":[{"Name":"C"}]}]},"timestamp":"2026-11-21T15:05:12.000Z","level":"ERROR","C":{"Values":[1,5],"Counts":[3,1],"Max":5}}`: true,
		`{"_aws":{"CloudWatchMetrics":[{"Namespace":"mine","Metrics":[{"Name":"D"}]}]},"D":"no number"}`:                                                                                    true,
		`{"_aws":{"CloudWatchMetrics":[]}}`:            false,
		`{"_aws":1}`:                                   false,
		`{"msg":"about \"_aws\""}`:                     false,
		`{"_aws":{"CloudWatchMetrics":[{}]}} trailing`: false,
		`plain`: false,
	} {
		if got := stats.Event(track.Log{Text: line}); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	// Two directives of a namespace have the same value with different dimensions.
	stats.Event(track.Log{Text: `{"_aws":{"CloudWatchMetrics":[{"Namespace":"twice","Dimensions":[["a"]],"Metrics":[{"Name":"A"}]},` +
		`{"Namespace":"twice","Dimensions":[["b"]],"Metrics":[{"Name":"A"},{"Name":"A"}]}]},"a":"x","b":"y","A":1}`})
	one := track.Distribution{Count: 1, Sum: 1, Min: 1, P50: 1, P90: 1, P99: 1, Max: 1}
	check(t, "EMF", stats.Report(track.Run{}).EMF, &track.EMF{Lines: 5, Metrics: map[string]map[string]track.EMFMetric{
		"mine": {
			"A": {"Count", track.Distribution{Count: 1, Sum: 3, Min: 3, P50: 3, P90: 3, P99: 3, Max: 3}},
			"B": {"Seconds", track.Distribution{Count: 3, Sum: 5.5, Min: 1, P50: 2, P90: 2.5, P99: 2.5, Max: 2.5}},
			"C": {"", track.Distribution{Count: 4, Sum: 8, Min: 1, P50: 1, P90: 5, P99: 5, Max: 5}},
		},
		"twice": {"A": {"", one}},
		"other": {"A": {"", track.Distribution{Count: 1, Sum: 3, Min: 3, P50: 3, P90: 3, P99: 3, Max: 3}}},
	}})
}

// FuzzEMF reads any line of a function's output.
func FuzzEMF(f *testing.F) {
	f.Add(`{"_aws":{"CloudWatchMetrics":[{"Namespace":"n","Metrics":[{"Name":"A"}]}]},"A":{"Values":[1e308,-1],"Counts":[1e300,-3]}}`)
	f.Add(`{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"_aws"}]}]}}`)
	f.Add(`{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"A"}]}]},"A":[1.7e308,1.7e308]}`)
	f.Fuzz(func(t *testing.T, line string) {
		stats := track.NewStats(0)
		metrics := stats.Event(track.Log{Text: line})
		if r := stats.Report(track.Run{}); (r.EMF != nil) != metrics {
			t.Errorf("%v: %+v", metrics, r.EMF)
		} else if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
