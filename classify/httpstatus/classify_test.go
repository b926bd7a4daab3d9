package httpstatus_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

const (
	asItIs    = -1
	permanent = -2
)

// verb is permanent, asItIs, or the seconds of a RetryAfter.
func verb(t *testing.T, in, out error) int {
	t.Helper()
	if !errors.Is(out, in) {
		t.Errorf("%v is not in %v", in, out)
	}
	switch v := batch.VerdictOf(out); {
	case out == in:
		return asItIs
	case v.Permanent:
		return permanent
	case v.HasAfter:
		return int(v.After / time.Second)
	}
	t.Errorf("%v became %#v", in, out)
	return 0
}

func TestClassifyStatuses(t *testing.T) {
	for status := 100; status < 700; status++ {
		want := asItIs
		if status >= 400 && status < 500 && status != 408 && status != 425 && status != 429 {
			want = permanent
		}
		err := error(&httpstatus.Error{Status: status})
		if got := verb(t, err, httpstatus.Classify(err)); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
		if want = asItIs; status >= 400 && status < 600 {
			want = 30
		}
		err = &httpstatus.Error{Status: status, RetryAfter: 30 * time.Second}
		if got := verb(t, err, httpstatus.Classify(err)); got != want {
			t.Errorf("%d with Retry-After: %d, want %d", status, got, want)
		}
	}
	if err := httpstatus.Classify(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}

type clientError struct{ status int }

func (e clientError) Error() string   { return fmt.Sprint("status ", e.status) }
func (e clientError) StatusCode() int { return e.status }

type sdkError struct{ status *int }

func (e sdkError) Error() string       { return "sdk" }
func (e sdkError) HTTPStatusCode() int { return *e.status }

type codeError struct{ sdkError }

func (codeError) ErrorCode() string { return "ThrottlingException" }

type operationError struct{ error }

func (operationError) Service() string   { return "SQS" }
func (operationError) Operation() string { return "SendMessage" }
func (e operationError) Unwrap() error   { return e.error }

type waitingError struct {
	clientError
	after time.Duration
}

func (e waitingError) RetryAfter() time.Duration { return e.after }

type sayingError struct{ clientError }

func (sayingError) Retryable() bool { return true }

func TestClassifyErrors(t *testing.T) {
	s404, s503 := 404, 503
	e404, e503 := &httpstatus.Error{Status: 404}, &httpstatus.Error{Status: 503}
	wait := func(seconds int) error {
		return &httpstatus.Error{Status: 429, RetryAfter: time.Duration(seconds) * time.Second}
	}
	post := func(err error) error { return &url.Error{Op: "Post", URL: "https://example.com", Err: err} }
	dial := func(err error) error { return post(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"wrapped":                        {fmt.Errorf("ship: %w", e404), permanent},
		"behind a sentinel":              {fmt.Errorf("%w: %w", io.ErrClosedPipe, e404), permanent},
		"StatusCode":                     {clientError{422}, permanent},
		"StatusCode, retry":              {fmt.Errorf("ship: %w", clientError{500}), asItIs},
		"HTTPStatusCode":                 {sdkError{&s404}, permanent},
		"HTTPStatusCode, retry":          {sdkError{&s503}, asItIs},
		"of AWS, by its code":            {fmt.Errorf("load: %w", codeError{sdkError{&s404}}), asItIs},
		"of AWS, by its operation":       {operationError{sdkError{&s404}}, asItIs},
		"a method that panics":           {sdkError{}, asItIs},
		"with RetryAfter":                {waitingError{clientError{503}, 7 * time.Second}, 7},
		"with RetryAfter, 4xx":           {waitingError{clientError{403}, 7 * time.Second}, 7},
		"with RetryAfter of nothing":     {waitingError{clientError{404}, 0}, permanent},
		"with RetryAfter of a year":      {waitingError{clientError{503}, 366 * 24 * time.Hour}, 12 * 60 * 60},
		"says Retryable":                 {sayingError{clientError{404}}, asItIs},
		"unknown":                        {io.ErrClosedPipe, asItIs},
		"an answer that wraps several":   {&httpstatus.Error{Status: 410, Err: errors.Join(e503, io.ErrClosedPipe)}, permanent},
		"the outer status is the answer": {&httpstatus.Error{Status: 502, Err: e404}, asItIs},

		"joined":                        {errors.Join(e404, io.ErrClosedPipe), permanent},
		"joined with one to retry":      {errors.Join(e404, e503), asItIs},
		"joined with a network error":   {errors.Join(e404, dial(syscall.ECONNREFUSED)), asItIs},
		"joined with a body that broke": {errors.Join(e404, io.ErrUnexpectedEOF), asItIs},
		"joined, the longest wait":      {errors.Join(wait(5), e404, wait(9), wait(2)), 9},
		"joined with a context's end":   {errors.Join(e404, canceled.Err()), asItIs},
		"joined with a deadline":        {errors.Join(e404, context.DeadlineExceeded), asItIs},
		"joined, deeper":                {fmt.Errorf("a: %w", errors.Join(nil, fmt.Errorf("b: %w", errors.Join(e404)))), permanent},
		"Permanent":                     {batch.Permanent(e503), asItIs},
		"RetryAfter of a 404":           {fmt.Errorf("a: %w", batch.RetryAfter(time.Minute, e404)), asItIs},
		"Abort of a 404":                {batch.Abort(time.Minute, e404), asItIs},
		"malformed":                     {&batch.MalformedError{Reason: "x", Err: wait(5)}, asItIs},
		"a panic with a 404":            {&batch.PanicError{Value: e404}, asItIs},
		"a client's timeout":            {post(context.DeadlineExceeded), asItIs},
		"connection refused":            {dial(syscall.ECONNREFUSED), asItIs},
		"connection reset":              {post(syscall.ECONNRESET), asItIs},
		"i/o timeout":                   {post(os.ErrDeadlineExceeded), asItIs},
		"no such host":                  {dial(&net.DNSError{Err: "no such host", Name: "exmaple.com", IsNotFound: true}), asItIs},
		"certificate of another":        {post(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "example.com"}), asItIs},
		"unknown authority":             {post(x509.UnknownAuthorityError{}), asItIs},
		"unsupported protocol scheme":   {post(errors.New("unsupported protocol scheme")), asItIs},
	} {
		if got := verb(t, c.err, httpstatus.Classify(c.err)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestRetryIsAnOption(t *testing.T) {
	retry := []int{http.StatusNotFound}
	classify := httpstatus.New(httpstatus.Options{Retry: retry})
	retry[0] = http.StatusConflict
	for status, want := range map[int]int{404: asItIs, 409: permanent, 429: asItIs, 500: asItIs} {
		err := error(&httpstatus.Error{Status: status})
		if got := verb(t, err, classify(err)); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
}

// The verdict must not depend on how net/http wraps a real client's errors.
func TestClassifyWhatTheClientReturns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close() // nothing listens there now
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for ctx, target := range map[context.Context]string{t.Context(): "http://" + listener.Addr().String(), ended: "http://127.0.0.1"} {
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			t.Fatal("there was an answer")
		}
		if got := verb(t, err, httpstatus.Classify(err)); got != asItIs {
			t.Errorf("%v: %d", err, got)
		}
	}
}
