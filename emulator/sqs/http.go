package sqs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
	// maxRequestBytes leaves room for 1 MiB of messages, every byte of it escaped.
	maxRequestBytes = 8 << 20
	// bodyTimeout bounds how long a client may take to send a request's body.
	bodyTimeout = 30 * time.Second
)

// errGone is the end of a request whose client has left: there is no one to answer.
var errGone = errors.New("sqs: the client is gone")

// ServeHTTP answers one request of the AWS JSON 1.0 protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(w, r)
	if errors.Is(err, errGone) {
		return
	}
	status := http.StatusOK
	header := w.Header()
	if err != nil {
		var failure *apiError
		if !errors.As(err, &failure) {
			failure = &apiError{shape: coralShape + "InternalFailure", queryCode: "InternalError",
				message: err.Error(), status: http.StatusInternalServerError}
		}
		fault := "Sender"
		if !failure.senderFault() {
			fault = "Receiver"
		}
		header.Set("X-Amzn-Query-Error", failure.queryCode+";"+fault)
		status = failure.httpStatus()
		answer = map[string]string{"__type": failure.shape, "message": failure.message}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil { // cannot happen: answers are strings and numbers
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	header.Set("X-Amzn-Requestid", newID())
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone; what it asked for has happened
}

// answer reads the request to its end (else net/http would not notice that a
// client leaves a long poll) and carries it out.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.invalid != nil {
		return nil, errInvalidParameter("%v", s.invalid)
	}
	// In-process writers have no deadlines, and need none.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := readBody(http.MaxBytesReader(w, r.Body, maxRequestBytes), r.ContentLength)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, &apiError{shape: coralShape + "RequestEntityTooLargeException", queryCode: "RequestEntityTooLarge",
				message: "The request is larger than " + strconv.Itoa(maxRequestBytes) + " bytes.",
				status:  http.StatusRequestEntityTooLarge}
		}
		return nil, errMalformed("The request body could not be read: %v.", err)
	}
	_ = control.SetReadDeadline(time.Time{})
	if r.Context().Err() != nil {
		return nil, errGone
	}
	return s.call(r.Context(), r.Method, r.Header, body)
}

func readBody(r io.Reader, length int64) ([]byte, error) {
	var body bytes.Buffer
	if length > 0 && length <= 1<<20 {
		body.Grow(int(length) + bytes.MinRead)
	}
	_, err := body.ReadFrom(r)
	return body.Bytes(), err
}

// call finds the operation and runs it.
func (s *Server) call(ctx context.Context, method string, header http.Header, body []byte) (any, error) {
	target := header.Get("X-Amz-Target")
	name, ok := strings.CutPrefix(target, targetPrefix)
	switch {
	case method != http.MethodPost:
		return nil, errUnknownOperation("The request's method is %s; SQS's operations are POST requests with the header X-Amz-Target: AmazonSQS.<Operation>.", method)
	case target == "" && strings.HasPrefix(header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		return nil, errUnknownOperation("The emulator speaks the AWS JSON 1.0 protocol only; this is a request of the older query protocol. Use a newer AWS SDK.")
	case !ok:
		return nil, errUnknownOperation("The header X-Amz-Target is %q; want AmazonSQS.<Operation>.", target)
	}
	run, known := operations[name]
	if !known {
		return nil, errUnknownOperation("The operation %s is not one of SQS's.", strconv.Quote(name))
	}
	if run == nil {
		return nil, prefixed("UnsupportedOperation", "The emulator does not implement the operation %s.", name)
	}
	return run(s, ctx, body)
}

// operation decodes a request's body and carries it out.
type operation func(s *Server, ctx context.Context, body []byte) (any, error)

// handle makes an operation of a method that takes the decoded request.
func handle[In any](run func(*Server, context.Context, *In) (any, error)) operation {
	return func(s *Server, ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := decode(body, in); err != nil {
			return nil, err
		}
		return run(s, ctx, in)
	}
}

func decode(body []byte, in any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil // a request without parameters
	}
	if body[0] != '{' {
		return errMalformed("The request body is not a JSON object.")
	}
	if !utf8.Valid(body) {
		return errMalformed("The request body is not UTF-8.")
	}
	if err := json.Unmarshal(body, in); err != nil {
		return errMalformed("The request body could not be decoded: %v.", err)
	}
	return nil
}

// newID returns a random UUID (version 4). Ids here are no secrets, so a fast
// generator is good enough.
func newID() string {
	const digits = "0123456789abcdef"
	var id [36]byte
	bits := [2]uint64{rand.Uint64()&^0xf000 | 0x4000, rand.Uint64()&^(3<<62) | 1<<63}
	at := 0
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			id[at] = '-'
			at++
		}
		id[at] = digits[bits[i/16]>>(60-4*(i%16))&0xf]
		at++
	}
	return string(id[:])
}
