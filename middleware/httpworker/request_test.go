package httpworker_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

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
func seen(t *testing.T, o httpworker.Options, r batch.Record) (inProcess, posted *http.Request, bodies []string) {
	t.Helper()
	var requests []*http.Request
	worker := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests, bodies = append(requests, r), append(bodies, string(body))
	})
	if err := httpworker.New(worker, o).Handle(t.Context(), r); err != nil {
		t.Error(err)
	}
	server := httptest.NewServer(worker)
	defer server.Close()
	h, err := httpworker.Post(server.URL+o.Path, server.Client(), o)
	ok(t, err)
	if err := h.Handle(t.Context(), r); err != nil {
		t.Error(err)
	}
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	return requests[0], requests[1], bodies
}

// What a worker in the process sees is what it would see of a post.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		options httpworker.Options
		record  batch.Record
		uri     string
		header  http.Header
	}{
		"all there is": {httpworker.Options{}, full, "/", fullHeader},
		"nothing":      {httpworker.Options{}, batch.Record{}, "/", http.Header{"Content-Type": {"application/json"}, "Content-Length": {"0"}, "User-Agent": {"aws-sqsd"}}},
		"configured": {
			httpworker.Options{Path: "/jobs/a%2Fb?tenant=7", ContentType: "text/plain; charset=utf-8", UserAgent: "mine/1"}, batch.Record{Body: "ü"}, "/jobs/a%2Fb?tenant=7",
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
		h := httpworker.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }), httpworker.Options{})
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
		h := httpworker.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI }), httpworker.Options{Path: path})
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
	})), httpworker.Options{Path: "/a/b"})
	for range 3 {
		if err := h.Handle(t.Context(), batch.Record{}); err != nil {
			t.Error(err)
		}
	}
}

func TestTheContextIsTheRecords(t *testing.T) {
	h := inProcess(func(_ http.ResponseWriter, r *http.Request) {
		if record, ok := batch.RecordFrom(r.Context()); !ok || string(record.MessageAttributes["image"].BinaryValue) != "\x89PNG" {
			t.Errorf("%+v, %v", record, ok)
		}
	})
	if err := h.Handle(batch.WithRecord(t.Context(), full), full); err != nil {
		t.Error(err)
	}
}
