package httpstatus

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
