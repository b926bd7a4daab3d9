package httpstatus

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Error is returned by [Check] for a response that is not a success.
type Error struct {
	// Status is the response's status, such as 503.
	Status int
	// Method and URL are from the request. URL has only the host and the path. User, query
	// and fragment may contain secrets or the sender's data.
	Method, URL string
	// RetryAfter is the wait that the server asks for, see [RetryAfter]; 0 for none.
	RetryAfter time.Duration
	// Err is a client's own error for the response, if there is one.
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

// Check returns nil for a response with a status of 200 to 299, and an [*Error] for any
// other. A redirect that the client did not follow, and a 304, are errors as well: they do
// not show that the record is done.
//
// Check does not read the body; the caller must still close it. The error's text contains
// the path of the URL. If the path is secret, as with webhooks, use an Error of your own.
func Check(response *http.Response) error {
	if response == nil {
		return errors.New("httpstatus: the response is nil")
	}
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return nil
	}
	e := &Error{Status: response.StatusCode, RetryAfter: RetryAfter(response.Header)}
	if request := response.Request; request != nil {
		e.Method, e.URL = request.Method, where(request.URL)
		if e.Method == "" { // http.Request uses "" for GET
			e.Method = http.MethodGet
		}
	}
	return e
}

const maxPath = 200 // bytes of a path in an error's text

// where returns the parts of a URL that an [Error] shows: host and path.
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

// MaxRetryAfter is the longest Retry-After that counts. SQS cannot delay a message for
// longer.
const MaxRetryAfter = 12 * time.Hour

// RetryAfter returns how long a response's header Retry-After asks to wait, at most
// [MaxRetryAfter]. It reads both forms of RFC 9110, section 10.2.3: a number of seconds,
// and a date. A date is compared with the response's own Date, so that clocks may differ;
// without one, with the time now.
//
// It returns 0 if the header is missing or invalid, or asks for no wait. Then the backoff
// decides, so that a record is never retried in a tight loop.
func RetryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(MaxRetryAfter/time.Second) { // err: more than 64 bits
			return MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		from = time.Now()
	}
	return min(max(at.Sub(from), 0), MaxRetryAfter)
}
