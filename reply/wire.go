package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

	queue string // the ARN of the reply queue, see requestOf
}

// answer is the attribute of an answer.
type answer struct {
	ID    string `json:"id"`
	Error *Error `json:"error,omitempty"`
}

// Error is returned by [Call] when the function of the [Handler] returned an error.
type Error struct {
	// Text is the text of the error, its first 1,000 bytes.
	Text string `json:"text"`
	// Permanent is true if the function returned [batch.Permanent] or a
	// [batch.MalformedError]: the same request would fail again.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the delay of [batch.RetryAfter], after which another call may succeed.
	RetryAfter time.Duration `json:"retryAfterNanoseconds,omitempty"`
}

func (e *Error) Error() string { return e.Text }

// maxText is the length of [Error].Text.
const maxText = 1000

var (
	// ErrOnLambda is returned by [NewClient] on Lambda. Lambda freezes a process between
	// invocations, so a client could not receive answers, nor keep its reply queue alive.
	ErrOnLambda = errors.New("reply: a client cannot run on Lambda, which freezes the process between invocations: " +
		"use HTTP or an asynchronous invocation there, or send a message whose handler sends the result to a queue of its own")

	// ErrClosed is returned by [Call] and [Client.Open] after Close, and by calls in flight
	// when Close is called.
	ErrClosed = errors.New("reply: the client is closed")

	// ErrQueueGone is returned when the reply queue was deleted during the call. The request
	// may have been handled. The next call creates a new queue.
	ErrQueueGone = errors.New("reply: the reply queue was deleted while the call waited for its answer")
)

// attribute returns v in JSON, as a String attribute.
func attribute(v any) batch.MessageAttribute {
	text, _ := json.Marshal(v) // strings, numbers and times
	return batch.MessageAttribute{DataType: "String", StringValue: string(text)}
}

// requestOf reads the request's attribute. Anyone with permission to send requests can name
// any queue in it. Therefore answers go only to queues of the record's region whose names
// begin with the prefix, in the record's account or one of Accounts, through the endpoint of
// the handler's client: the host in the URL is not called. Errors do not quote the attribute,
// since they are in the log and in dead letters.
func (c *HandlerConfig) requestOf(r *batch.Record) (q request, err error) {
	malformed := func(reason string, args ...any) error {
		return &batch.MalformedError{Reason: "attribute " + requestAttribute + ": " + fmt.Sprintf(reason, args...)}
	}
	a, ok := r.MessageAttributes[requestAttribute]
	if !ok {
		return q, malformed("is missing: the message was not sent by reply.Call")
	}
	if json.Unmarshal([]byte(a.StringValue), &q) != nil {
		return q, malformed("is not the JSON that reply.Call writes")
	}
	if q.ID == "" || q.Deadline.IsZero() {
		return q, malformed("has no id or no deadline")
	}
	part := replyURL.FindStringSubmatch(q.To)
	if part == nil {
		return q, malformed("the reply queue must be https://HOST/ACCOUNT/NAME")
	}
	own, _ := endpoint.ParseARN(r.QueueARN)
	host, account, name := part[1], part[2], part[3]
	switch region := endpoint.Region(host); {
	case !strings.HasPrefix(name, c.Prefix):
		return q, malformed("the name of the reply queue must begin with %q (HandlerConfig.Prefix)", c.Prefix)
	case region != "" && region != own.Region:
		return q, malformed("the reply queue must be in the region of the requests' queue, %s", own.Region)
	case account != own.Account && !slices.Contains(c.Accounts, account):
		return q, malformed("the reply queue must be in the account of the requests' queue, %s, or in one of HandlerConfig.Accounts", own.Account)
	}
	q.queue = "arn:" + endpoint.PartitionOf(own.Region) + ":sqs:" + own.Region + ":" + account + ":" + name
	return q, nil
}

var replyURL = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?/([A-Za-z0-9_-]+)/([A-Za-z0-9_-]{1,80})$`)
