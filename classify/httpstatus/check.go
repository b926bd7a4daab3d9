package httpstatus

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Error is a response that is no success.
type Error struct {
	// Status is the response's, such as 503.
	Status int
	// Method and URL are the request's; of the URL host and path, without user,
	// query and fragment, where secrets and the sender's data are.
	Method, URL string
	// RetryAfter is how long the server asks to wait, see [RetryAfter]; 0 when
	// it does not.
	RetryAfter time.Duration
	// Err is a client's own error that tells of the response, if there is one.
	Err error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("status %d", e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if request := strings.TrimSpace(e.Method + " " + e.URL); request != "" {
		text = request + ": " + text
	}
	if e.RetryAfter > 0 {
		text += ", retry after " + e.RetryAfter.String()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the client's own error.
func (e *Error) Unwrap() error { return e.Err }

// Check returns nil for a response with a status of 200 to 299, and an [*Error]
// for any other. That is also one for a redirect that the client did not follow
// and for 304: nothing says that the record is done.
//
// It never reads the body, whose closing remains the caller's. The path of the
// URL is in the error's text: where that is a secret, as of webhooks, use an
// Error of your own.
func Check(response *http.Response) error {
	if response == nil {
		return errors.New("httpstatus: there is no response")
	}
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return nil
	}
	e := &Error{Status: response.StatusCode, RetryAfter: RetryAfter(response.Header)}
	if request := response.Request; request != nil {
		e.Method, e.URL = request.Method, where(request.URL)
		if e.Method == "" { // as http.Request has it
			e.Method = http.MethodGet
		}
	}
	return e
}

const maxPath = 200 // bytes of a path that an error tells

// where returns what an [Error] tells of a URL: host and path.
func where(u *url.URL) string {
	if u == nil {
		return ""
	}
	path := u.EscapedPath()
	if len(path) > maxPath {
		path = path[:maxPath] + "…"
	}
	return u.Host + path
}
