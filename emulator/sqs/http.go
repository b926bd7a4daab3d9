package sqs

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
)

// ServeHTTP answers one request of the AWS JSON 1.0 protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(w, r)
	switch {
	case errors.Is(err, errGone):
		return
	case errors.Is(err, errRefused), errors.Is(err, errLostAnswer):
		breakOff(w, err)
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
	if _, inProcess := w.(*recorder); !inProcess {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.answer))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone; what it asked for has happened
}

// answer reads the request to its end (else net/http would not notice that a
// client leaves a long poll) and carries it out.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.invalid != nil {
		return nil, errInvalidParameter("%v", s.invalid)
	}
	body, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	if r.Context().Err() != nil {
		return nil, errGone
	}
	name, err := route(r)
	if err != nil {
		return nil, err
	}
	return s.call(r.Context(), name, body)
}

// route finds the operation that a request is for.
func route(r *http.Request) (name string, err error) {
	target := r.Header.Get("X-Amz-Target")
	name, ok := strings.CutPrefix(target, targetPrefix)
	switch {
	case r.Method != http.MethodPost:
		return "", errUnknownOperation("The request's method is %s; SQS's operations are POST requests with the header X-Amz-Target: AmazonSQS.<Operation>.", r.Method)
	case target == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		return "", errUnknownOperation("The emulator speaks the AWS JSON 1.0 protocol only; this is a request of the older query protocol. Use a newer AWS SDK.")
	case !ok:
		return "", errUnknownOperation("The header X-Amz-Target is %q; want AmazonSQS.<Operation>.", target)
	}
	if _, known := operations[name]; !known {
		return "", errUnknownOperation("The operation %s is not one of SQS's.", strconv.Quote(name))
	}
	return name, nil
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
