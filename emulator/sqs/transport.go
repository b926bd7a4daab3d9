package sqs

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// transport calls the server directly, in the caller's goroutine: it starts
// none, so nothing can leak, and everything stays in the caller's bubble.
type transport struct{ server *Server }

// RoundTrip returns the context's error as soon as the context is done, as a real transport
// does. Only a receive can wait here, and it watches the context. The server leaves such a
// request without an answer.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Body == nil {
		r = r.Clone(ctx)
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }() // read to its end; nothing is lost by an error
	w := &recorder{header: http.Header{}}
	t.server.ServeHTTP(w, r)
	if w.broken != nil {
		return nil, w.broken
	}
	if w.status == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.status = http.StatusOK
	}
	return &http.Response{
		Status:     strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		StatusCode: w.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.header,
		Body:          io.NopCloser(bytes.NewReader(w.body)),
		ContentLength: int64(len(w.body)),
		Request:       r,
	}, nil
}

type recorder struct {
	header http.Header
	status int
	body   []byte
	broken error // the connection ended, in place of an answer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, p...)
	return len(p), nil
}
