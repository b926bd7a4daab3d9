package sqs

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// maxRequestBytes leaves room for 1 MiB of messages, every byte of it escaped.
const maxRequestBytes = 8 << 20

// body reads a request's body within the limits of size and time.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := []byte(nil), error(nil)
	if _, inProcess := w.(*recorder); inProcess { // no connection, no deadlines
		body, err = readBody(http.MaxBytesReader(w, r.Body, maxRequestBytes), r.ContentLength)
	} else {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(s.limits.body))
		_ = control.SetWriteDeadline(time.Now().Add(s.limits.body)) // for "100 Continue"
		body, err = readBody(http.MaxBytesReader(w, r.Body, maxRequestBytes), r.ContentLength)
		if err == nil {
			_ = control.SetReadDeadline(time.Time{}) // a long poll waits for its client to leave
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, &apiError{shape: coralShape + "RequestEntityTooLargeException", queryCode: "RequestEntityTooLarge",
			message: "The request is larger than " + strconv.Itoa(maxRequestBytes) + " bytes.",
			status:  http.StatusRequestEntityTooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &apiError{shape: coralShape + "RequestTimeoutException", queryCode: "RequestTimeout",
			message: "The request body did not arrive within " + s.limits.body.String() + ".",
			status:  http.StatusRequestTimeout}
	}
	return nil, errMalformed("The request body could not be read: %v.", err)
}

func readBody(r io.Reader, length int64) ([]byte, error) {
	if length > 0 && length <= 1<<20 {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	return io.ReadAll(r)
}
