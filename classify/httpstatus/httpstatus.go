// Package httpstatus decides whether a failed HTTP call is worth a retry. [Check] makes an
// error of a response that is not a success:
//
//	response, err := http.DefaultClient.Do(request)
//	if err != nil {
//		return err
//	}
//	defer response.Body.Close()
//	if err := httpstatus.Check(response); err != nil {
//		return err
//	}
//
// [Classify] gives errors with a status a verb. Set it in the configuration:
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{Classify: httpstatus.Classify})
//
// or call it where the error is returned:
//
//	return httpstatus.Classify(err)
//
// The rules:
//
//   - 408, 425, 429 and every 5xx are retried, after Retry-After if the response has it.
//   - Any other 4xx goes to the dead-letter queue at once. Exception: a response with
//     Retry-After is retried, since the problem will pass (GitHub limits its callers with a 403).
//   - Everything else is an ordinary failure: a redirect that was not followed, or a call
//     without an answer, such as a name that is not found or a certificate that is not accepted.
//     The cause may be a wrong configuration, which must not move a whole queue to the
//     dead-letter queue.
//
// A 401 or 403 may also be caused by a wrong configuration. If your credentials are
// rotated, retry them: New(Config{Retry: []int{401, 403}}).
package httpstatus

import (
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	verdict "github.com/sqsbatch/sqsbatch/classify/internal"
)

// Config changes how a classifier judges a status. The zero value is ready to use.
type Config struct {
	// Retry are further statuses to retry, such as the 404 of a service that receives orders
	// late. Defaults to none.
	Retry []int
}

// New returns a classifier, for batch.Config.Classify and handler.Config.Classify.
func New(o Config) func(error) error {
	o.Retry = slices.Clone(o.Retry)
	return func(err error) error { return verdict.Apply(err, o.judge) }
}

// Classify returns err wrapped with the verb that follows from its status, or unchanged. It
// recognizes an [*Error], and errors of clients that have a method StatusCode() int or
// HTTPStatusCode() int, and perhaps RetryAfter() time.Duration. Errors of the AWS SDK are
// never permanent because of their status, since AWS throttles with a 400: use package
// classify/awserr for them.
//
// It returns an error unchanged if the error has a verb of package batch, has a method
// Retryable() bool, or is the end of a context. Joined errors are retried if one of them is.
func Classify(err error) error { return verdict.Apply(err, Config{}.judge) }

func (o Config) judge(chain []error) (verdict.Kind, time.Duration) {
	for _, err := range chain {
		status, after, ok := statusOf(err)
		if !ok {
			continue
		}
		switch {
		case status < 400 || status > 599:
			return verdict.Unknown, 0
		case after > 0, status >= 500, slices.Contains(o.Retry, status):
			return verdict.Retry, after
		}
		switch status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return verdict.Retry, 0
		}
		if slices.ContainsFunc(chain, ofAWS) {
			return verdict.Unknown, 0
		}
		return verdict.Permanent, 0
	}
	for _, err := range chain {
		if _, ok := err.(net.Error); ok || err == io.ErrUnexpectedEOF {
			return verdict.Retry, 0
		}
	}
	return verdict.Unknown, 0
}

// ofAWS reports whether err is from the AWS SDK, where a 400 may be throttling or an
// expired token. Package awserr recognizes those by their code.
func ofAWS(err error) bool {
	switch err.(type) {
	case interface{ ErrorCode() string }:
		return true
	case interface {
		Service() string
		Operation() string
	}:
		return true
	}
	return false
}

// statusOf returns the status and Retry-After of err itself, not of an error that it wraps.
func statusOf(err error) (status int, after time.Duration, ok bool) {
	switch e := err.(type) {
	case *Error:
		return e.Status, min(e.RetryAfter, MaxRetryAfter), true
	case interface{ HTTPStatusCode() int }:
		status = e.HTTPStatusCode()
	case interface{ StatusCode() int }:
		status = e.StatusCode()
	default:
		return 0, 0, false
	}
	if e, has := err.(interface{ RetryAfter() time.Duration }); has {
		after = min(e.RetryAfter(), MaxRetryAfter)
	}
	return status, after, true
}
