package httpworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// ErrAborted is returned when a worker panicked with [http.ErrAbortHandler], which is how a
// server ends a request without an answer.
var ErrAborted = errors.New("httpworker: the worker aborted the request")

// New makes a handler of a worker in this process. The request's context is the record's.
// New returns nil if h is nil.
//
// As in an [http.Server], a worker that returns without writing anything has answered 200.
// Exception: if its context has ended, the record has failed. The response is not an
// [http.Hijacker].
func New(h http.Handler, o Config) batch.HandlerFunc {
	if wrapped.IsNil(h) {
		return nil
	}
	o = o.withDefaults()
	target := path(o.Path)
	return func(ctx context.Context, r batch.Record) error {
		w := &response{header: make(http.Header)}
		if aborted := serve(h, w, o.request(ctx, target, &r)); aborted {
			return ErrAborted
		}
		if err := ctx.Err(); err != nil && w.status == 0 {
			return fmt.Errorf("httpworker: the worker returned without an answer: %w", err)
		}
		w.WriteHeader(http.StatusOK)
		if w.status >= 200 && w.status <= 299 {
			return nil
		}
		return failed(&httpstatus.Error{Status: w.status, Method: http.MethodPost, URL: target.EscapedPath(), RetryAfter: w.retryAfter})
	}
}

// path parses a path. A path that cannot be parsed is used as it is.
func path(s string) url.URL {
	if !strings.HasPrefix(s, "/") {
		s = "/" + s
	}
	if u, err := url.ParseRequestURI(s); err == nil {
		return *u
	}
	return url.URL{Path: s}
}

// request returns the request that an [http.Server] would make of the daemon's.
func (o Config) request(ctx context.Context, target url.URL, r *batch.Record) *http.Request {
	request := &http.Request{
		Method: http.MethodPost, URL: &target, RequestURI: target.RequestURI(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: "localhost", RemoteAddr: "127.0.0.1:0",
		Header: o.header(r), ContentLength: int64(len(r.Body)), Body: http.NoBody,
	}
	request.Header.Set("Content-Length", strconv.Itoa(len(r.Body)))
	if r.Body != "" {
		request.Body = io.NopCloser(strings.NewReader(r.Body))
	}
	return request.WithContext(ctx)
}

// serve calls h and reports whether h aborted the request. Any other panic goes on.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (aborted bool) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			aborted = true
		default:
			panic(v)
		}
	}()
	h.ServeHTTP(w, r)
	return false
}

// response is an [http.ResponseWriter] that keeps only the status. A worker's goroutines
// may use it after the worker has returned, which is a mistake of theirs and has no effect.
type response struct {
	header http.Header // belongs to the worker until it answers

	mu         sync.Mutex
	status     int // 0: no answer yet
	retryAfter time.Duration
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader keeps the first status that is not informational (100 to 199). An invalid
// status fails the record; an [http.Server] would panic.
func (w *response) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status != 0 || status >= 100 && status <= 199 {
		return
	}
	if status <= 0 {
		status = http.StatusInternalServerError
	}
	w.status, w.retryAfter = status, httpstatus.RetryAfter(w.header)
}

func (w *response) Write(p []byte) (int, error) { return w.wrote(len(p)) }

// WriteString avoids copies, see [io.StringWriter].
func (w *response) WriteString(s string) (int, error) { return w.wrote(len(s)) }

// Flush answers 200 unless there is a status.
func (w *response) Flush() { w.WriteHeader(http.StatusOK) }

func (w *response) wrote(n int) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return n, nil
}
