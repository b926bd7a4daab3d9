// Package httpworker runs a worker that was written for HTTP, such as one to which the
// worker tier of AWS Elastic Beanstalk posts each message:
//
//	http.HandleFunc("POST /", work) // func(http.ResponseWriter, *http.Request)
//	handler.Run(httpworker.New(http.DefaultServeMux, httpworker.Config{}))
//
// This calls the worker inside the process, without a socket. A worker in another process,
// in any language, gets the records by POST:
//
//	h, err := httpworker.Post("http://127.0.0.1:8080/jobs", nil, httpworker.Config{})
//
// The request is the one that the daemon of Elastic Beanstalk sends, see "Elastic Beanstalk
// worker environments" in its Developer Guide: a POST of the body, with User-Agent
// aws-sqsd, Content-Type application/json unless configured, and
//
//	X-Aws-Sqsd-Msgid              the message's id
//	X-Aws-Sqsd-Queue              the queue's name
//	X-Aws-Sqsd-First-Received-At  as 2026-11-21T21:33:25Z, when known
//	X-Aws-Sqsd-Receive-Count      the attempt, when known
//	X-Aws-Sqsd-Sender-Id          the IAM id of the sender, when known
//	X-Aws-Sqsd-Attr-NAME          each message attribute that is a string or number
//
// Like the daemon, it leaves out binary attributes. It also leaves out attributes whose
// name or value a header cannot have, such as a text of several lines. A worker inside the
// process finds all attributes with batch.RecordFrom(r.Context()). Names that differ only
// in case become several values of one header.
//
// The status decides. 200 to 299 means done (Elastic Beanstalk knows only 200). Any other
// status is a failure with an [httpstatus.Error]: the record comes back after the backoff,
// or after Retry-After if the response has it. Redirects are not followed and are failures.
// As in Elastic Beanstalk, no status is permanent. To make a 4xx permanent, set
// handler.Config{Classify: httpstatus.Classify}. The response's body is ignored.
//
// Periodic tasks (cron.yaml) are a feature of the daemon. Use Amazon EventBridge Scheduler,
// which sends to a queue as well.
//
// [httpstatus.Error]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/classify/httpstatus#Error
package httpworker

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// Config configures [New] and [Post]. The zero value is ready to use.
type Config struct {
	// Path is the path to which [New] posts, such as "/jobs?tenant=7". Defaults to "/".
	Path string
	// ContentType is the header Content-Type. Defaults to "application/json".
	ContentType string
	// UserAgent is the header User-Agent. Defaults to "aws-sqsd", by which frameworks
	// recognize a message.
	UserAgent string
}

func (o Config) withDefaults() Config {
	o.Path = cmp.Or(o.Path, "/")
	o.ContentType = cmp.Or(o.ContentType, "application/json")
	o.UserAgent = cmp.Or(o.UserAgent, "aws-sqsd")
	return o
}

func failed(e *httpstatus.Error) error {
	if e.RetryAfter > 0 {
		return batch.RetryAfter(e.RetryAfter, e)
	}
	return e
}

const (
	prefix    = "X-Aws-Sqsd-"
	timestamp = "2006-01-02T15:04:05Z" // ISO 8601, UTC
)

// header returns the headers that the daemon of Elastic Beanstalk sends with a record.
func (o Config) header(r *batch.Record) http.Header {
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
