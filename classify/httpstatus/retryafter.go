package httpstatus

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest that a Retry-After is heard for: as long as SQS
// can keep a message from being delivered.
const MaxRetryAfter = 12 * time.Hour

// RetryAfter returns how long a response's header Retry-After asks to wait, at
// most [MaxRetryAfter]. It knows both forms of RFC 9110, section 10.2.3: seconds,
// and a date, which counts from the response's own Date, so that clocks that
// differ change nothing, or without one from now.
//
// It returns 0 when there is no such header, it is neither, or it asks for no
// wait: then the backoff decides, and no record is tried again in a circle.
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
