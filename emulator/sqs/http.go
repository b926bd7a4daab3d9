package sqs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/draw"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
)

// ServeHTTP answers one request of the AWS JSON 1.0 protocol, or of the older query
// protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && !isQuery(r) && r.Header.Get("X-Amz-Target") == "" {
		writeAnswer(w, newID(), http.StatusNotFound, queryContentType, []byte("<UnknownOperationException/>\n"))
		return
	}
	answer, err := s.answer(w, r)
	switch {
	case errors.Is(err, errGone):
		return
	case errors.Is(err, errRefused), errors.Is(err, errLostAnswer):
		breakConnection(w, err)
		return
	}
	write(w, r, answer, err)
}

// write writes an answer, or an error, in the request's protocol.
func write(w http.ResponseWriter, r *http.Request, answer any, err error) {
	if failure, ok := errors.AsType[*apiError](err); ok && failure.retryAfter > 0 {
		w.Header().Set("X-Amz-Retry-After", strconv.FormatInt(failure.retryAfter.Milliseconds(), 10))
	}
	id := newID()
	if isQuery(r) {
		status, body := queryXML(id, answer, err)
		writeAnswer(w, id, status, queryContentType, body)
		return
	}
	status := http.StatusOK
	if err != nil {
		failure := asAPIError(err)
		w.Header().Set("X-Amzn-Query-Error", failure.queryCode+";"+failure.fault())
		status = failure.status
		answer = map[string]string{"__type": failure.shape, "message": failure.message}
	}
	writeAnswer(w, id, status, contentType, encode(answer))
}

func writeAnswer(w http.ResponseWriter, id string, status int, mediaType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Amzn-Requestid", id)
	if inProcess, ok := w.(*recorder); ok {
		inProcess.status, inProcess.body = status, body
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; the operation has had its effect
}

// answer reads the request and carries it out. It reads to the end, because otherwise net/http
// would not notice that a client leaves a long poll.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.invalid != nil {
		return nil, errInvalidParameter("%v", s.invalid)
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if r.Context().Err() != nil {
		return nil, errGone
	}
	if isQuery(r) {
		return s.queryCall(r, body)
	}
	target := r.Header.Get("X-Amz-Target")
	name, ok := strings.CutPrefix(target, targetPrefix)
	_, known := operations[name]
	switch {
	case r.Method != http.MethodPost:
		return nil, errUnknownOperation("The request's method is %s; SQS's operations are POST requests with the header X-Amz-Target: AmazonSQS.<Operation>.", r.Method)
	case !ok:
		return nil, errUnknownOperation("The header X-Amz-Target is %q; want AmazonSQS.<Operation>.", target)
	case !known:
		return nil, errUnknownOperation("SQS has no operation %q.", name)
	}
	return s.call(r, name, body)
}

// newID returns a random UUID (version 4).
func newID() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], draw.Rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], draw.Rand.Uint64())
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	digits := hex.EncodeToString(raw[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// maxRequestBytes is enough for 1 MiB of messages whose every byte is escaped.
const maxRequestBytes = 8 << 20

// readBody reads a request's body, which may have up to maxRequestBytes.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	limited := http.MaxBytesReader(w, r.Body, maxRequestBytes)
	if r.ContentLength > 0 && r.ContentLength <= 1<<20 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	if err == nil {
		return body, nil
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &apiError{shape: coralShape + "RequestEntityTooLargeException", queryCode: "RequestEntityTooLarge",
			message: "The request is larger than " + strconv.Itoa(maxRequestBytes) + " bytes.",
			status:  http.StatusRequestEntityTooLarge}
	}
	return nil, errMalformed("The request body could not be read: %v.", err)
}

// transport calls the server in the caller's goroutine. It starts no goroutine, so that none can
// leak or leave the caller's bubble.
type transport struct{ server *Server }

// RoundTrip returns the context's error as soon as the context is done, like a real transport:
// the server ends waits with the request's context, without an answer.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Body == nil {
		r = r.Clone(ctx)
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }() // an error after the body was read has no effect
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
	broken error // connection error instead of an answer
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
