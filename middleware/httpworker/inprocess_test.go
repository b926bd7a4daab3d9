package httpworker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is "done", "status N", "status N after D" or the error's text.
func outcome(err error) string {
	var e *httpstatus.Error
	switch v := batch.VerdictOf(err); {
	case err == nil:
		return "done"
	case errors.As(err, &e) && v.HasAfter:
		return fmt.Sprintf("status %d after %v", e.Status, v.After)
	case errors.As(err, &e) && v == batch.Verdict{}:
		return fmt.Sprintf("status %d", e.Status)
	}
	return err.Error()
}

func inProcess(f http.HandlerFunc) batch.HandlerFunc { return httpworker.New(f, httpworker.Options{}) }

func TestTheStatusDecides(t *testing.T) {
	write := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, "text") }
	}
	for want, workers := range map[string][]http.HandlerFunc{
		"done": {
			write(200), write(201), write(204), write(299),
			func(http.ResponseWriter, *http.Request) {},
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")); w.WriteHeader(500) },
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); w.WriteHeader(500) },
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(102); w.WriteHeader(200) },
			func(w http.ResponseWriter, _ *http.Request) {
				_ = http.NewResponseController(w).Flush()
				w.WriteHeader(500)
			},
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.Header().Set("Retry-After", "7") },
		},
		"status 300": {write(300)},
		"status 304": {write(304)},
		"status 302": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/done", http.StatusFound) }},
		"status 404": {http.NotFound, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(100); w.WriteHeader(404) }},
		"status 500": {
			write(500), write(0), write(-200),
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.WriteHeader(200) },
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.Header().Set("Retry-After", "7") },
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "soon")
				w.WriteHeader(500)
			},
		},
		"status 1000": {write(1000)},
		"status 503 after 7s": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("retry-after", "7")
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}},
		httpworker.ErrAborted.Error(): {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic(http.ErrAbortHandler) },
		},
	} {
		for i, worker := range workers {
			if got := outcome(inProcess(worker).Handle(t.Context(), batch.Record{})); got != want {
				t.Errorf("%s, %d: %s", want, i, got)
			}
		}
	}
}

func TestWhatAnErrorTells(t *testing.T) {
	h := httpworker.New(http.NotFoundHandler(), httpworker.Options{Path: "/jobs?token=sesame"})
	if err := h.Handle(t.Context(), batch.Record{Body: "sesame"}); err == nil || err.Error() != "POST /jobs: status 404 Not Found" {
		t.Errorf("%v", err)
	}
}

// A worker that gives up when its time is over writes nothing: that is no 200.
func TestTheEndOfTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		worker http.HandlerFunc
		done   bool
	}{
		"nothing is written": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
		"done in the end":    {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done(); w.WriteHeader(200) }, true},
		"done before":        {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); <-r.Context().Done() }, true},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := inProcess(c.worker).Handle(ctx, batch.Record{})
		if c.done != (err == nil) || !c.done && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPanicsAreTheEngines(t *testing.T) {
	engine, err := runner.New(inProcess(func(http.ResponseWriter, *http.Request) { findMe() }), batch.Config{})
	ok(t, err)
	records := []batch.Record{{MessageID: "m-1"}}
	got := engine.Run(t.Context(), records, batch.Times{}, nil)[0]
	var panicked *batch.PanicError
	if !errors.As(got.Err, &panicked) || panicked.Value != "oops" || !strings.Contains(string(panicked.Stack), "findMe") {
		t.Errorf("%v", got.Err)
	}
}

func findMe() { panic("oops") }

// A worker may write without end: nothing is kept.
func TestWhatIsWrittenTakesNoMemory(t *testing.T) {
	chunk := make([]byte, 1<<20)
	h := inProcess(func(w http.ResponseWriter, _ *http.Request) {
		for range 1000 {
			if n, err := w.Write(chunk); n != len(chunk) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			_, _ = io.WriteString(w, "text")
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = h.Handle(t.Context(), batch.Record{})
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 {
		t.Errorf("%d bytes for an answer of 1 GB", bytes)
	}
}

func TestStatusesWithoutABody(t *testing.T) {
	for _, status := range []int{204, 304} {
		_ = inProcess(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("%d: %v", status, err)
			}
		}).Handle(t.Context(), batch.Record{})
	}
}

// http.TimeoutHandler and others call the worker on goroutines of their own.
func TestUnderATimeoutHandler(t *testing.T) {
	h := httpworker.New(http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}), time.Millisecond, "late"), httpworker.Options{})
	if got := outcome(h.Handle(t.Context(), batch.Record{})); got != "status 503" {
		t.Error(got)
	}
}

func TestNothingIsNoHandler(t *testing.T) {
	var none http.HandlerFunc
	for _, h := range []http.Handler{nil, none} {
		if got := httpworker.New(h, httpworker.Options{}); got != nil {
			t.Errorf("%T makes a handler", h)
		}
	}
}
