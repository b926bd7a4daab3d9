package sqs

import (
	"errors"
	"io"
	"net/http"
	"strconv"
)

// maxRequestBytes leaves room for 1 MiB of messages, every byte of it escaped.
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
