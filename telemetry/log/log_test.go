package log_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

const ordersARN = "arn:aws:sqs:eu-west-1:123456789012:orders"

func result(id string, o batch.Outcome, err error) batch.Result {
	return batch.Result{Record: &batch.Record{MessageID: id, Attempt: 2, Body: "swordfish", QueueARN: ordersARN}, Outcome: o, Err: err}
}

func written(t *testing.T, level slog.Level, opts log.Config, tell func(h batch.Hooks)) []map[string]any {
	t.Helper()
	var buf bytes.Buffer
	tell(log.New(slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: level})), opts))
	if strings.Contains(buf.String(), "swordfish") {
		t.Errorf("a body is in the log: %s", buf.String())
	}
	var lines []map[string]any
	for d := json.NewDecoder(&buf); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		lines = append(lines, line)
	}
	return lines
}

// settled returns the lines of a batch of an unknown queue.
func settled(t *testing.T, level slog.Level, results ...batch.Result) []map[string]any {
	t.Helper()
	return written(t, level, log.Config{}, func(h batch.Hooks) { h.BatchSettled(t.Context(), batch.BatchInfo{}, results) })
}

func TestLinesAndLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		results := []batch.Result{
			result("m-0", batch.Succeeded, nil), result("m-1", batch.Retry, boom), result("m-2", batch.DeadLettered, boom),
			result("m-3", batch.NotStarted, batch.ErrNotStarted), result("m-4", batch.Skipped, batch.ErrSkipped),
			result("m-5", batch.Abandoned, batch.ErrAbandoned), result("m-6", batch.Dropped, boom),
			result("m-7", batch.Retry, &batch.PanicError{Value: "oops", Stack: []byte("goroutine 1")}), result("m-8", batch.Retry, batch.ErrGoexit),
		}
		results[1].Started, results[1].Duration, results[1].Allowed = time.Now(), 12345*time.Microsecond, 3*time.Second
		results[1].VisibleIn, results[1].VisibilitySet, results[1].MaxReceiveCount = 4*time.Second, true, 5
		results[2].DeadLetterQueue = "https://sqs/1/dead"
		info := batch.BatchInfo{QueueARN: ordersARN, Started: time.Now(), Deadline: time.Now().Add(30 * time.Second)}
		time.Sleep(1500 * time.Millisecond)
		lines := written(t, slog.LevelDebug, log.Config{Succeeded: true}, func(h batch.Hooks) { h.BatchSettled(t.Context(), info, results) })
		if len(lines) != 10 {
			t.Fatalf("%d lines: %v", len(lines), lines)
		}
		for i, level := range []string{"INFO", "WARN", "ERROR", "WARN", "INFO", "ERROR", "ERROR", "ERROR", "ERROR", "INFO"} {
			if lines[i]["level"] != level || lines[i]["logger"] != "sqsbatch" {
				t.Errorf("line %d is at level %v of %v", i, lines[i]["level"], lines[i]["logger"])
			}
		}
		for i, want := range map[int]string{
			0: `{"attempt":2,"level":"INFO","logger":"sqsbatch","messageId":"m-0","msg":"record","outcome":"succeeded","queue":"orders"}`,
			1: `{"allowedMs":3000,"attempt":2,"durationMs":12.3,"level":"WARN","logger":"sqsbatch","maxReceiveCount":5,"messageId":"m-1","msg":"record","outcome":"retry","queue":"orders","reason":"boom","visibleInMs":4000}`,
			2: `{"attempt":2,"deadLetterQueue":"https://sqs/1/dead","level":"ERROR","logger":"sqsbatch","messageId":"m-2","msg":"record","outcome":"dead-letter","queue":"orders","reason":"boom"}`,
			7: `{"attempt":2,"level":"ERROR","logger":"sqsbatch","messageId":"m-7","msg":"record","outcome":"retry","queue":"orders","reason":"handler panicked: oops","stack":"goroutine 1"}`,
			9: `{"abandoned":1,"deadLetter":1,"dropped":1,"durationMs":1500,"level":"INFO","logger":"sqsbatch","msg":"batch","notStarted":1,"queue":"orders","records":9,"remainingMs":28500,"retry":3,"skipped":1,"succeeded":1}`,
		} {
			if got, _ := json.Marshal(lines[i]); string(got) != want {
				t.Errorf("line %d: %s\nwant %s", i, got, want)
			}
		}
	})
}

func TestWarnings(t *testing.T) {
	for want, w := range map[string]batch.Warning{
		`[{"level":"WARN","logger":"sqsbatch","messageId":"m-1","msg":"look here","queue":"orders","reason":"boom"}]`: {Message: "look here", MessageID: "m-1", Queue: "orders", Err: errors.New("boom")},
		`[{"level":"WARN","logger":"sqsbatch","msg":"look here"}]`:                                                    {Message: "look here"}, // of no queue
		`[{"level":"INFO","logger":"sqsbatch","msg":"all right"}]`:                                                    {Message: "all right", Info: true},
		`[{"level":"ERROR","logger":"sqsbatch","msg":"look now"}]`:                                                    {Message: "look now", Serious: true},
		`[{"level":"WARN","logger":"sqsbatch","msg":"a hook panicked","reason":"handler panicked: oops","stack":"goroutine 1"}]`: {
			Message: "a hook panicked", Err: &batch.PanicError{Value: "oops", Stack: []byte("goroutine 1")}},
	} {
		lines := written(t, slog.LevelInfo, log.Config{}, func(h batch.Hooks) { h.Warned(t.Context(), w) })
		if got, _ := json.Marshal(lines); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWithoutALoggerTheDefaultOneWrites(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var buf bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&buf, nil)))
	log.New(nil, log.Config{}).Warned(context.Background(), batch.Warning{Message: "look here"})
	if !strings.Contains(buf.String(), `msg="look here" logger=sqsbatch`) || strings.Contains(buf.String(), "messageId") {
		t.Errorf("%s", buf.String())
	}
}

// hidden wraps an error without telling its text.
type hidden struct{ err error }

func (hidden) Error() string   { return "the warehouse is down" }
func (h hidden) Unwrap() error { return h.err }

func TestWhatIsWrappedInAnErrorIsTold(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a text":                      {errors.New("boom"), `<nil>`},
		"texts in the reason":         {fmt.Errorf("ship: %w", errors.New("boom")), `<nil>`},
		"a type of its own":           {fmt.Errorf("ship: %w", path), `[map[type:*fs.PathError]]`},
		"a verb":                      {batch.Permanent(fmt.Errorf("ship: %w", path)), `[map[type:*batch.permanentError] map[type:*fs.PathError]]`},
		"a text that is new":          {hidden{fmt.Errorf("dial: %w", path)}, `[map[type:log_test.hidden] map[text:dial: open x: file does not exist type:*fmt.wrapError] map[type:*fs.PathError]]`},
		"joined ones":                 {errors.Join(path, hidden{errors.New("refused")}), `[map[type:*fs.PathError] map[type:log_test.hidden] map[text:refused type:*errors.errorString]]`},
		"a decoder's own text":        {&batch.MalformedError{Reason: "at offset 3", Err: hidden{errors.New(`swordfish`)}}, `[map[type:*batch.MalformedError] map[type:log_test.hidden]]`},
		"a panic with an error":       {&batch.PanicError{Value: path, Stack: []byte("x")}, `[map[type:*fs.PathError]]`},
		"behind a reason that is cut": {fmt.Errorf("%s: %w", strings.Repeat("x", 5000), errors.New("refused")), `[map[text:refused type:*errors.errorString]]`},
	} {
		lines := settled(t, slog.LevelInfo, result("m", batch.Retry, c.err))
		if got := fmt.Sprint(lines[0]["errors"]); got != c.want {
			t.Errorf("%s: errors %s\nwant %s", name, got, c.want)
		}
	}
}

// A batch of no known queue that never began has no queue and no duration. A visibility of zero is logged.
func TestWhatIsNotKnown_IsLeftOut(t *testing.T) {
	released := batch.Result{Record: &batch.Record{MessageID: "m"}, Outcome: batch.NotStarted, Err: batch.ErrStopped, VisibilitySet: true}
	lines := settled(t, slog.LevelDebug, released)
	got, _ := json.Marshal(lines)
	want := `[{"attempt":0,"level":"DEBUG","logger":"sqsbatch","messageId":"m","msg":"record","outcome":"not-started","reason":"` + batch.ErrStopped.Error() + `","visibleInMs":0},` +
		`{"level":"INFO","logger":"sqsbatch","msg":"batch","notStarted":1,"records":1}]`
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestErrorsInALogThatIsText(t *testing.T) {
	var buf bytes.Buffer
	h := log.New(slog.New(slog.NewTextHandler(&buf, nil)), log.Config{})
	h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{result("m", batch.Retry, hidden{fs.ErrNotExist})})
	if want := `errors="[log_test.hidden *errors.errorString: file does not exist]"`; !strings.Contains(buf.String(), want) {
		t.Errorf("%s, want %s", buf.String(), want)
	}
}

func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := result("m", batch.Retry, nil)
		r.Record.SentAt, r.Record.FirstReceivedAt = time.Now().Add(-90*time.Second), time.Now().Add(-time.Minute)
		later := result("m", batch.Retry, nil)
		later.Record.SentAt = time.Now().Add(time.Second) // clocks differ
		lines := settled(t, slog.LevelInfo, r, later)
		if lines[0]["ageMs"] != 90_000.0 || lines[0]["sinceFirstReceiveMs"] != 60_000.0 {
			t.Errorf("%v", lines[0])
		}
		if _, known := lines[1]["sinceFirstReceiveMs"]; known || lines[1]["ageMs"] != 0.0 {
			t.Errorf("%v", lines[1])
		}
	})
}

// Bodies are written where that is asked for, of failures only, and cut.
func TestBodiesOnRequest(t *testing.T) {
	for outcome, failed := range map[batch.Outcome]bool{
		batch.Retry: true, batch.DeadLettered: true, batch.Dropped: true, batch.Abandoned: true,
		batch.Succeeded: false, batch.Skipped: false, batch.NotStarted: false,
	} {
		for body, want := range map[string]string{"four": `"four" <nil>`, "four€": `"four" 7`, "": `"" <nil>`} {
			r := result("m", outcome, nil)
			r.Record.Body = body
			lines := written(t, slog.LevelInfo, log.Config{BodyBytes: 5, Succeeded: true}, func(h batch.Hooks) {
				h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{r})
			})
			got := fmt.Sprintf("%#v %v", lines[0]["body"], lines[0]["bodyBytes"])
			if !failed {
				want = "<nil> <nil>"
			}
			if got != want {
				t.Errorf("%v, body %q: %s, want %s", outcome, body, got, want)
			}
		}
	}
}

type panicsInUnwrap struct{}

func (panicsInUnwrap) Error() string { return "sent" }
func (panicsInUnwrap) Unwrap() error { panic("oops") }

func TestAnErrorWhoseMethodsPanicCostsNoLine(t *testing.T) {
	for name, err := range map[string]error{"itself": panics{"oops"}, "in Unwrap": panicsInUnwrap{}, "wrapped": fmt.Errorf("sent: %w", hidden{panics{"oops"}})} {
		dead := result("m-3", batch.DeadLettered, err)
		dead.Started, dead.Duration = time.Now(), time.Second
		lines := written(t, slog.LevelInfo, log.Config{}, func(h batch.Hooks) {
			h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{
				result("m-1", batch.Retry, err), result("m-2", batch.Retry, errors.New("boom")), dead,
			})
			h.Warned(t.Context(), batch.Warning{Message: "look here", Err: err})
		})
		if len(lines) != 5 || lines[0]["messageId"] != "m-1" || lines[1]["reason"] != "boom" || lines[2]["durationMs"] == nil || lines[4]["reason"] == nil {
			t.Errorf("%s: %v", name, lines)
		}
	}
}
