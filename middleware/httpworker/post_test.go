package httpworker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

// posting returns a handler that posts to a worker.
func posting(t *testing.T, worker http.HandlerFunc) batch.HandlerFunc {
	t.Helper()
	server := httptest.NewServer(worker)
	t.Cleanup(server.Close)
	h, err := httpworker.Post(server.URL+"/jobs?token=sesame", server.Client(), httpworker.Options{})
	ok(t, err)
	return h
}

func TestPostedStatusesDecide(t *testing.T) {
	for want, worker := range map[string]http.HandlerFunc{
		"done":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) },
		"status 404": http.NotFound,
		"status 500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"status 503 after 7s": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		},
		// Followed, it would be a GET of what answers 200 to everybody.
		"status 302": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/jobs" {
				http.Redirect(w, r, "/welcome", http.StatusFound)
			}
		},
	} {
		if got := outcome(posting(t, worker).Handle(t.Context(), batch.Record{Body: "x"})); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRedirectsByChoice(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.URL.Path == "/" || string(body) != "x" {
			http.Redirect(w, r, "/there", http.StatusPermanentRedirect)
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: server.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	h, err := httpworker.Post(server.URL, client, httpworker.Options{})
	ok(t, err)
	if err := h.Handle(t.Context(), batch.Record{Body: "x"}); err != nil {
		t.Error(err)
	}
}

func TestPostFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	refusing := listener.Addr().String()
	_ = listener.Close()
	silent, err := httpworker.Post("http://jane:sesame@"+refusing+"/jobs?token=sesame", nil, httpworker.Options{})
	ok(t, err)
	for name, c := range map[string]struct {
		h    batch.HandlerFunc
		is   error
		says string
	}{
		"nothing listens": {silent, syscall.ECONNREFUSED, "POST " + refusing + "/jobs: "},
		"no answer":       {posting(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), io.EOF, "/jobs: EOF"},
		"the answer breaks off": {posting(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "so far")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}), io.ErrUnexpectedEOF, "/jobs: the answer broke off: "},
		"too late": {posting(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}), context.DeadlineExceeded, "/jobs: "},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if name == "too late" {
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		}
		err := c.h.Handle(ctx, batch.Record{Body: "swordfish"})
		cancel()
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: %v", name, err)
		}
		if got := httpstatus.Classify(err); got != err || batch.VerdictOf(err) != (batch.Verdict{}) {
			t.Errorf("%s: %#v asks for something", name, err)
		}
	}
}

// The worker's connections are used again, one after another.
func TestConnectionsAreKept(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 20_000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	h, err := httpworker.Post(server.URL, nil, httpworker.Options{})
	ok(t, err)
	for range 20 {
		if err := h.Handle(t.Context(), batch.Record{}); err != nil {
			t.Error(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestURLsThatCannotBe(t *testing.T) {
	for _, target := range []string{"", "/jobs", "localhost:8080/jobs", "ftp://localhost/sesame", "http:///jobs", "http://:8080/", "http://local host/", "http://h/%zz?sesame", "http://h:port/", "https://jane:sesame@/"} {
		h, err := httpworker.Post(target, nil, httpworker.Options{})
		if h != nil || err == nil || strings.Contains(err.Error(), "sesame") || !strings.HasPrefix(err.Error(), "httpworker: the URL ") {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// An answer without end is not read to its end: the status has decided.
func TestPostReadsAnAnswerWithinABound(t *testing.T) {
	ended := make(chan struct{})
	h := posting(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for page := make([]byte, 4096); r.Context().Err() == nil; {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Handle(ctx, batch.Record{Body: "x"}); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestPostLeavesTheClientAlone(t *testing.T) {
	client := new(http.Client)
	if _, err := httpworker.Post("http://127.0.0.1/", client, httpworker.Options{}); err != nil || client.CheckRedirect != nil || client.Transport != nil {
		t.Errorf("%v, and the client is %+v", err, client)
	}
}

// ok fails the test if err is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
