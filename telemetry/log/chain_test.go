package log_test

import (
	"bytes"
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
		"a text":                {errors.New("boom"), ``},
		"texts in the reason":   {fmt.Errorf("ship: %w", errors.New("boom")), ``},
		"a type of its own":     {fmt.Errorf("ship: %w", path), `[{"type":"*fs.PathError"}]`},
		"a verb":                {batch.Permanent(fmt.Errorf("ship: %w", path)), `[{"type":"*batch.permanentError"},{"type":"*fs.PathError"}]`},
		"a text that is new":    {hidden{fmt.Errorf("dial: %w", path)}, `[{"type":"log_test.hidden"},{"type":"*fmt.wrapError","text":"dial: open x: file does not exist"},{"type":"*fs.PathError"}]`},
		"joined ones":           {errors.Join(path, hidden{errors.New("refused")}), `[{"type":"*fs.PathError"},{"type":"log_test.hidden"},{"type":"*errors.errorString","text":"refused"}]`},
		"a decoder's own text":  {&batch.MalformedError{Reason: "at offset 3", Err: hidden{errors.New(`swordfish`)}}, `[{"type":"*batch.MalformedError"},{"type":"log_test.hidden"}]`},
		"a panic with an error": {&batch.PanicError{Value: path, Stack: []byte("x")}, `[{"type":"*fs.PathError"}]`},
	} {
		lines := settled(t, slog.LevelInfo, result("m", batch.Retry, c.err))
		got := ""
		if lines[0]["errors"] != nil {
			data, _ := json.Marshal(lines[0]["errors"])
			var links []struct {
				Type string `json:"type"`
				Text string `json:"text,omitempty"`
			}
			_ = json.Unmarshal(data, &links)
			data, _ = json.Marshal(links)
			got = string(data)
		}
		if got != c.want {
			t.Errorf("%s: errors %s\nwant %s", name, got, c.want)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	many := make([]error, 1000)
	for i := range many {
		many[i] = hidden{fmt.Errorf("%d %s", i, strings.Repeat("x", 10_000))}
	}
	lines := settled(t, slog.LevelInfo, result("m", batch.Retry, hidden{errors.Join(many...)}))
	data, _ := json.Marshal(lines[0]["errors"])
	if n := len(lines[0]["errors"].([]any)); n < 5 || n > 16 || len(data) > 3<<10 {
		t.Errorf("%d errors in %d bytes", n, len(data))
	}
}

func TestErrorsInALogThatIsText(t *testing.T) {
	var buf bytes.Buffer
	h := log.New(slog.New(slog.NewTextHandler(&buf, nil)), log.Options{})
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
			lines := written(t, slog.LevelInfo, log.Options{BodyBytes: 5, Succeeded: true}, func(h *log.Hook) {
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
