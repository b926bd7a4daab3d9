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

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// ErrAborted is the error of a record whose worker panicked with
// [http.ErrAbortHandler]: the way to end a request without an answer.
var ErrAborted = errors.New("httpworker: the worker aborted the request")

// New makes a worker in this process a handler of records. The request's
// context is the record's. Without h there is no handler: what runs handlers
// refuses the nil that it returns then.
//
// A worker that returns without having written anything has answered 200, as in
// an [http.Server], but not after the end of its context: then the record has
// failed. The response is no [http.Hijacker].
func New(h http.Handler, o Options) batch.HandlerFunc {
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

// path is where a worker is posted to: what cannot be read is a path as it stands.
func path(s string) url.URL {
	if !strings.HasPrefix(s, "/") {
		s = "/" + s
	}
	if u, err := url.ParseRequestURI(s); err == nil {
		return *u
	}
	return url.URL{Path: s}
}

// request is what an [http.Server] would make of the daemon's.
func (o Options) request(ctx context.Context, target url.URL, r *batch.Record) *http.Request {
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

// serve reports whether h aborted the request. Any other panic goes on.
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
