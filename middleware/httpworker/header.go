package httpworker

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	prefix    = "X-Aws-Sqsd-"
	timestamp = "2006-01-02T15:04:05Z" // ISO 8601, UTC
)

// header returns the headers that the daemon of Elastic Beanstalk sends with a record.
func (o Options) header(r *batch.Record) http.Header {
	h := make(http.Header, 8+len(r.MessageAttributes))
	set := func(name, value string) {
		if value != "" && validValue(value) {
			h.Set(name, value)
		}
	}
	set("Content-Type", o.ContentType)
	set("User-Agent", o.UserAgent)
	set(prefix+"Msgid", r.MessageID)
	set(prefix+"Queue", batch.QueueName(r.QueueARN))
	set(prefix+"Sender-Id", r.SenderID)
	if !r.FirstReceivedAt.IsZero() {
		set(prefix+"First-Received-At", r.FirstReceivedAt.In(time.UTC).Format(timestamp))
	}
	if r.Attempt > 0 {
		set(prefix+"Receive-Count", strconv.Itoa(r.Attempt))
	}
	// Sorted, so that names that become one header always give the same values.
	for _, name := range slices.Sorted(maps.Keys(r.MessageAttributes)) {
		a := r.MessageAttributes[name]
		if binary := strings.HasPrefix(a.DataType, "Binary"); !binary && validName(name) && validValue(a.StringValue) {
			h.Add(prefix+"Attr-"+name, a.StringValue)
		}
	}
	return h
}

// validName reports whether a header's name may end in s (a token, RFC 9110).
func validName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// validValue reports whether s may be a header's value: it has no control character except
// tabs, and no white space at its ends, which would be lost.
func validValue(s string) bool {
	return s == strings.Trim(s, " \t") && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
