package s3payload_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

func TestStream(t *testing.T) {
	f := newS3(t, "a/1")
	var got s3payload.Object
	var body string
	h := s3payload.Stream(func(ctx context.Context, o s3payload.Object) error {
		b, err := io.ReadAll(o.Body)
		got, body = o, string(b)
		if r, _ := batch.RecordFrom(ctx); r.MessageID != "m-1" || o.Bucket != "" && (r.Body != "" || len(r.MessageAttributes) != 0) {
			t.Errorf("RecordFrom: %+v", r)
		}
		return err
	}, s3payload.Config{Buckets: buckets, Client: f.client()})
	give := func(r batch.Record) error { return h.Handle(batch.WithRecord(t.Context(), r), r) }

	if err := give(record(newer, size(len(order)))); err != nil || body != order || got.Size != int64(len(order)) || got.Bucket != "payloads" || got.Key != "a/1" {
		t.Errorf("%q, %+v, %v", body, got, err)
	}
	if err := give(record("small", nil)); err != nil || body != "small" || got.Size != 5 || got.Bucket != "" || got.Key != "" {
		t.Errorf("%q, %+v, %v", body, got, err)
	}
	body = ""
	if err := give(record(newer, size(1))); !batch.VerdictOf(err).Permanent || body != "" {
		t.Errorf("a size that is a lie: %q, %v", body, err)
	}
	if err := give(record("small", size(1))); !batch.VerdictOf(err).Permanent || body != "" {
		t.Errorf("no pointer: %q, %v", body, err)
	}
	h = s3payload.Stream(func(context.Context, s3payload.Object) error { return nil }, s3payload.Config{Buckets: buckets, Client: f.client(), MaxBytes: 5})
	if err := give(record(newer, nil)); !batch.VerdictOf(err).Permanent || !strings.Contains(err.Error(), "MaxBytes (5)") {
		t.Errorf("too large: %v", err)
	}
}

// A function that takes a broken connection for the end of the text, as is easy
// with a bufio.Scanner, has not handled the record.
func TestWhatWasNotReadToItsEndHasFailed(t *testing.T) {
	f := newS3(t, "a/1")
	f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return f.cutOff(r, order, 9), nil
		}
		return nil, nil
	}
	h := s3payload.Stream(func(_ context.Context, o s3payload.Object) error {
		for lines := bufio.NewScanner(o.Body); lines.Scan(); {
		}
		return nil
	}, s3payload.Config{Buckets: buckets, Client: f.client(), Prefixes: []string{"x/", "a/"}, DeleteAfterSuccess: true})
	err := h.Handle(t.Context(), record(newer, nil))
	if !errors.Is(err, io.ErrUnexpectedEOF) || batch.VerdictOf(err).Permanent || strings.Contains(f.called(), "DELETE") {
		t.Errorf("%v; calls: %s", err, f.called())
	}
}

// endless is an object that no memory could hold.
type endless struct{ left int64 }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), e.left)
	e.left -= n
	return int(n), nil
}

func TestMemory(t *testing.T) {
	const mib = 1 << 20
	f := newS3(t)
	var object int64 // its size
	silent := false  // about the size
	f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
		a := f.answer(r, 200, "")
		a.Body = &closing{Reader: &endless{object}, f: f}
		a.ContentLength = object
		a.Header.Set("Content-Length", fmt.Sprint(object))
		if silent {
			a.ContentLength = -1
			a.Header.Del("Content-Length")
		}
		return a, nil
	}
	cfg := s3payload.Config{Buckets: buckets, Client: f.client(), MaxBytes: 4 * mib}
	text := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error { return nil }))
	cfg.MaxBytes = 0
	stream := s3payload.Stream(func(_ context.Context, o s3payload.Object) error {
		n, err := io.Copy(io.Discard, o.Body)
		if n != o.Size {
			t.Errorf("%d of %d bytes", n, o.Size)
		}
		return err
	}, cfg)
	ok(t, text.Handle(t.Context(), record(newer, nil))) // what the client makes once
	for _, c := range []struct {
		h       batch.Handler
		object  int64
		silent  bool
		fails   bool
		atMost  uint64
		comment string
	}{
		{text, 4 * mib, false, false, 5 * mib, "an object of 4 MiB"},
		{text, 1 << 33, false, true, mib, "an object that is too large"},
		{text, 1 << 33, true, true, 32 * mib, "one that does not say so"},
		{stream, 200 * mib, false, false, mib, "a stream of 200 MiB"},
	} {
		object, silent = c.object, c.silent
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.h.Handle(t.Context(), record(newer, nil))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; (err != nil) != c.fails || got > c.atMost {
			t.Errorf("%d bytes for %s, %v", got, c.comment, err)
		}
	}
}

// A function that reads line by line what would not go into its memory.
func ExampleStream() {
	importLines := func(ctx context.Context, o s3payload.Object) error {
		lines := bufio.NewScanner(o.Body)
		for lines.Scan() {
			// …
		}
		return lines.Err()
	}
	main := func() {
		handler.Run(s3payload.Stream(importLines, s3payload.Config{Buckets: []string{"imports"}}))
	}
	_ = main
}
