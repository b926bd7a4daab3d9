package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// The attributes of requests and answers.
const (
	requestAttribute = "sqsbatch.request"
	answerAttribute  = "sqsbatch.answer"
)

// request is the attribute of a request.
type request struct {
	ID       string    `json:"id"`
	To       string    `json:"to"`       // the URL of the reply queue
	Deadline time.Time `json:"deadline"` // when the caller gives up
}

// answer is the attribute of an answer.
type answer struct {
	ID    string `json:"id"`
	Error *Error `json:"error,omitempty"`
}

// Error is the error that the function of a [Handler] has returned for a request.
type Error struct {
	// Text is the text of the error, its first 1,000 bytes.
	Text string `json:"text"`
	// Permanent is true if the function has returned [batch.Permanent] or a
	// [batch.MalformedError]: the same request would fail again.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the time of [batch.RetryAfter], after which another call may succeed.
	RetryAfter time.Duration `json:"retryAfterNanoseconds,omitempty"`
}

func (e *Error) Error() string { return e.Text }

// maxText is the length of [Error].Text.
const maxText = 1000

var (
	// ErrOnLambda is returned by [NewClient] on Lambda, which freezes a process between
	// invocations: it would not hear answers, nor keep its reply queue alive.
	ErrOnLambda = errors.New("reply: a client cannot run on Lambda, which freezes the process between invocations: " +
		"use HTTP or an asynchronous invocation there, or send a message whose handler sends the result to a queue of its own")

	// ErrClosed is returned by [Call] and [Client.Open] after Close, and by calls that Close
	// has ended.
	ErrClosed = errors.New("reply: the client is closed")

	// ErrQueueGone is returned by calls whose reply queue was deleted while they waited. The
	// request may have been handled. The next call makes a new queue.
	ErrQueueGone = errors.New("reply: the reply queue was deleted while the call waited for its answer")
)

// attribute makes an attribute of v.
func attribute(v any) batch.MessageAttribute {
	text, _ := json.Marshal(v) // strings, numbers and times
	return batch.MessageAttribute{DataType: "String", StringValue: string(text)}
}

// requestOf reads the request's attribute. Answers go only to queues of the record's region
// whose names begin with prefix, since anyone who may send requests can write any queue into
// them.
func requestOf(r *batch.Record, prefix string) (q request, err error) {
	malformed := func(reason string, err error) error {
		return &batch.MalformedError{Reason: "attribute " + requestAttribute + ": " + reason, Err: err}
	}
	a, ok := r.MessageAttributes[requestAttribute]
	if !ok {
		return q, malformed("is missing: the message was not sent by reply.Call", nil)
	}
	if err := json.Unmarshal([]byte(a.StringValue), &q); err != nil {
		return q, malformed("is not the JSON that reply.Call writes", err)
	}
	if q.ID == "" || q.Deadline.IsZero() {
		return q, malformed("has no id or no deadline", nil)
	}
	to, err := url.Parse(q.To)
	if err != nil || !replyURL.MatchString(q.To) {
		return q, malformed(fmt.Sprintf("the reply queue is %.200q, must be https://HOST/ACCOUNT/NAME", q.To), err)
	}
	own, _ := endpoint.ParseARN(r.QueueARN)
	switch name, region := batch.QueueName(q.To), endpoint.Region(to.Hostname()); {
	case !strings.HasPrefix(name, prefix):
		return q, malformed(fmt.Sprintf("the name of the reply queue is %q, must begin with %q (HandlerConfig.Prefix)", name, prefix), nil)
	case region != "" && region != own.Region:
		return q, malformed(fmt.Sprintf("the reply queue is in region %q, must be in that of the requests' queue, %s", region, own.Region), nil)
	}
	return q, nil
}

var replyURL = regexp.MustCompile(`^https?://[A-Za-z0-9._:\[\]-]+/[A-Za-z0-9_-]+/[A-Za-z0-9_-]{1,80}$`)
