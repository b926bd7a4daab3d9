package httpworker_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is "done", "status N", "status N after D" or the error's text.
func outcome(err error) string {
	e, ok := errors.AsType[*httpstatus.Error](err)
	switch v := batch.VerdictOf(err); {
	case err == nil:
		return "done"
	case ok && v.HasAfter:
		return fmt.Sprintf("status %d after %v", e.Status, v.After)
	case ok && v == batch.Verdict{}:
		return fmt.Sprintf("status %d", e.Status)
	}
	return err.Error()
}

func inProcess(f http.HandlerFunc) batch.HandlerFunc { return httpworker.New(f, httpworker.Config{}) }

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
	h := httpworker.New(http.NotFoundHandler(), httpworker.Config{Path: "/jobs?token=sesame"})
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
	engine := runner.New(inProcess(func(http.ResponseWriter, *http.Request) { findMe() }), runner.Config{}, &hooks.Set{})
	records := []batch.Record{{MessageID: "m-1"}}
	got := engine.Run(t.Context(), records, runner.Options{})[0]
	if panicked, ok := errors.AsType[*batch.PanicError](got.Err); !ok || panicked.Value != "oops" || !strings.Contains(string(panicked.Stack), "findMe") {
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
	}), time.Millisecond, "late"), httpworker.Config{})
	if got := outcome(h.Handle(t.Context(), batch.Record{})); got != "status 503" {
		t.Error(got)
	}
}

func TestNothingIsNoHandler(t *testing.T) {
	var none http.HandlerFunc
	for _, h := range []http.Handler{nil, none} {
		if got := httpworker.New(h, httpworker.Config{}); got != nil {
			t.Errorf("%T makes a handler", h)
		}
	}
}

func text(s string) batch.MessageAttribute {
	return batch.MessageAttribute{DataType: "String", StringValue: s}
}

var full = batch.Record{
	MessageID: "059f36b4-87a3-44ab-83d2-661975830a7d", Body: `{"id":"o-1"}`, Attempt: 3, SenderID: "AIDAIENQZJOLO23YVJ4VO",
	QueueARN:        "arn:aws:sqs:eu-west-1:123456789012:orders.fifo",
	FirstReceivedAt: time.Date(2026, 11, 21, 22, 33, 25, 999e6, time.FixedZone("", 3600)),
	MessageAttributes: map[string]batch.MessageAttribute{
		"tenant.id": text("7"), "app-path": text("/jobs; ü"), "Count": {DataType: "Number.int", StringValue: "12"},
		"image": {DataType: "Binary.png", BinaryValue: []byte("\x89PNG")},
		"Kind":  text("rush"), "kind": text("gift"),
		"lines": text("a\nb"), "nul": text("\x00"), "del": text("\x7f"), "tab": text("a\tb"), "blanks": text(" a "),
		"no header": text("x"), "": text("x"), "ümlaut": text("x"),
	},
}

var fullHeader = http.Header{
	"Content-Type": {"application/json"}, "Content-Length": {"12"}, "User-Agent": {"aws-sqsd"},
	"X-Aws-Sqsd-Msgid": {"059f36b4-87a3-44ab-83d2-661975830a7d"}, "X-Aws-Sqsd-Queue": {"orders.fifo"},
	"X-Aws-Sqsd-Receive-Count": {"3"}, "X-Aws-Sqsd-Sender-Id": {"AIDAIENQZJOLO23YVJ4VO"},
	"X-Aws-Sqsd-First-Received-At": {"2026-11-21T21:33:25Z"},
	"X-Aws-Sqsd-Attr-Tenant.id":    {"7"}, "X-Aws-Sqsd-Attr-App-Path": {"/jobs; ü"}, "X-Aws-Sqsd-Attr-Count": {"12"},
	"X-Aws-Sqsd-Attr-Kind": {"rush", "gift"}, "X-Aws-Sqsd-Attr-Tab": {"a\tb"},
}

// seen is what a worker got, in the process and by a post.
func seen(t *testing.T, o httpworker.Config, r batch.Record) (inProcess, posted *http.Request, bodies []string) {
	t.Helper()
	var requests []*http.Request
	worker := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests, bodies = append(requests, r), append(bodies, string(body))
	})
	ok(t, httpworker.New(worker, o).Handle(t.Context(), r))
	server := httptest.NewServer(worker)
	defer server.Close()
	h, err := httpworker.Post(server.URL+o.Path, server.Client(), o)
	ok(t, err)
	ok(t, h.Handle(t.Context(), r))
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	return requests[0], requests[1], bodies
}

// What a worker in the process sees is what it would see of a post.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		options httpworker.Config
		record  batch.Record
		uri     string
		header  http.Header
	}{
		"all there is": {httpworker.Config{}, full, "/", fullHeader},
		"nothing":      {httpworker.Config{}, batch.Record{}, "/", http.Header{"Content-Type": {"application/json"}, "Content-Length": {"0"}, "User-Agent": {"aws-sqsd"}}},
		"configured": {
			httpworker.Config{Path: "/jobs/a%2Fb?tenant=7", ContentType: "text/plain; charset=utf-8", UserAgent: "mine/1"}, batch.Record{Body: "ü"}, "/jobs/a%2Fb?tenant=7",
			http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"2"}, "User-Agent": {"mine/1"}},
		},
	} {
		inProcess, posted, bodies := seen(t, c.options, c.record)
		if !slices.Equal(bodies, []string{c.record.Body, c.record.Body}) {
			t.Errorf("%s: bodies %q", name, bodies)
		}
		posted.Header.Del("Accept-Encoding") // the client's own
		for kind, r := range map[string]*http.Request{"in the process": inProcess, "posted": posted} {
			if !maps.EqualFunc(r.Header, c.header, slices.Equal) {
				t.Errorf("%s, %s: header %v\nwant %v", name, kind, r.Header, c.header)
			}
			if r.Method != "POST" || r.RequestURI != c.uri || r.URL.String() != c.uri || r.ContentLength != int64(len(c.record.Body)) || r.Proto != "HTTP/1.1" || r.Body == nil || r.Form != nil {
				t.Errorf("%s, %s: %+v", name, kind, r)
			}
		}
		if !reflect.DeepEqual(inProcess.URL, posted.URL) || inProcess.Host != "localhost" || inProcess.RemoteAddr != "127.0.0.1:0" {
			t.Errorf("%s: %+v and %+v", name, inProcess.URL, posted.URL)
		}
	}
}

// Whatever attributes hold, a server can read the request with its headers.
func FuzzAttributes(f *testing.F) {
	f.Add("tenant.id", "7")
	f.Add("a b", "a\r\nX-Admin: true")
	f.Add("X\r\n", "ü\x00")
	f.Fuzz(func(t *testing.T, name, value string) {
		var got *http.Request
		h := httpworker.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }), httpworker.Config{})
		r := batch.Record{MessageID: value, SenderID: value, QueueARN: value, MessageAttributes: map[string]batch.MessageAttribute{name: text(value)}}
		ok(t, h.Handle(context.Background(), r))
		var wire bytes.Buffer
		if err := got.Write(&wire); err != nil {
			t.Fatalf("%v of %q", err, got.Header)
		}
		read, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil || !maps.EqualFunc(read.Header, got.Header, slices.Equal) {
			t.Errorf("%v: %q became %q", err, got.Header, read.Header)
		}
	})
}

func TestPathsAsTheyStand(t *testing.T) {
	for path, want := range map[string]string{"": "/", "jobs": "/jobs", "/a b": "/a%20b", "/%zz": "/%25zz", "http://x/y": "/http://x/y", "//x/y": "//x/y", "/x?y=z": "/x?y=z"} {
		var got string
		h := httpworker.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI }), httpworker.Config{Path: path})
		if err := h.Handle(t.Context(), batch.Record{}); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", path, got, err, want)
		}
	}
}

// Each request is its own: a worker may change it.
func TestRequestsShareNothing(t *testing.T) {
	h := httpworker.New(http.StripPrefix("/a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/b" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%+v", r)
		}
		r.URL.Path, r.URL.RawQuery = "/changed", "x"
		r.Header.Del("Content-Type")
	})), httpworker.Config{Path: "/a/b"})
	for range 3 {
		ok(t, h.Handle(t.Context(), batch.Record{}))
	}
}

func TestTheContextIsTheRecords(t *testing.T) {
	h := inProcess(func(_ http.ResponseWriter, r *http.Request) {
		if record, ok := batch.RecordFrom(r.Context()); !ok || string(record.MessageAttributes["image"].BinaryValue) != "\x89PNG" {
			t.Errorf("%+v, %v", record, ok)
		}
	})
	ok(t, h.Handle(batch.WithRecord(t.Context(), full), full))
}

func posting(t *testing.T, worker http.HandlerFunc) batch.HandlerFunc {
	t.Helper()
	server := httptest.NewServer(worker)
	t.Cleanup(server.Close)
	h, err := httpworker.Post(server.URL+"/jobs?token=sesame", server.Client(), httpworker.Config{})
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
	h, err := httpworker.Post(server.URL, client, httpworker.Config{})
	ok(t, err)
	ok(t, h.Handle(t.Context(), batch.Record{Body: "x"}))
}

func TestPostFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	refusing := listener.Addr().String()
	_ = listener.Close()
	silent, err := httpworker.Post("http://jane:sesame@"+refusing+"/jobs?token=sesame", nil, httpworker.Config{})
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
	h, err := httpworker.Post(server.URL, nil, httpworker.Config{})
	ok(t, err)
	for range 20 {
		ok(t, h.Handle(t.Context(), batch.Record{}))
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestURLsThatCannotBe(t *testing.T) {
	for _, target := range []string{"", "/jobs", "localhost:8080/jobs", "ftp://localhost/sesame", "http:///jobs", "http://:8080/", "http://local host/", "http://h/%zz?sesame", "http://h:port/", "https://jane:sesame@/"} {
		h, err := httpworker.Post(target, nil, httpworker.Config{})
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
	ok(t, h.Handle(ctx, batch.Record{Body: "x"}))
	<-ended
}

func TestPostLeavesTheClientAlone(t *testing.T) {
	client := new(http.Client)
	if _, err := httpworker.Post("http://127.0.0.1/", client, httpworker.Config{}); err != nil || client.CheckRedirect != nil || client.Transport != nil {
		t.Errorf("%v, and the client is %+v", err, client)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
