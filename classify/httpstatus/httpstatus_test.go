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
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
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
	classify := httpstatus.New(httpstatus.Config{Retry: retry})
	retry[0] = http.StatusConflict
	for status, want := range map[int]int{404: asItIs, 409: permanent, 429: asItIs, 500: asItIs} {
		err := error(&httpstatus.Error{Status: status})
		if got := verb(t, err, classify(err)); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
}

func response(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	u, _ := url.Parse("https://jane:sesame@api.example.com:8443/v1/orders%2F7?token=sesame#sesame")
	return &http.Response{StatusCode: status, Header: h, Body: unread{}, Request: &http.Request{Method: "POST", URL: u}}
}

type unread struct{}

func (unread) Read([]byte) (int, error) { panic("the body was read") }
func (unread) Close() error             { panic("the body was closed") }

func TestCheck(t *testing.T) {
	for status := 200; status < 300; status++ {
		if err := httpstatus.Check(response(status)); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
	for _, status := range []int{0, 101, 199, 300, 302, 304, 400, 404, 429, 500, 599, 700} {
		err := httpstatus.Check(response(status))
		var e *httpstatus.Error
		if !errors.As(err, &e) || e.Status != status || e.Method != "POST" || e.URL != "api.example.com:8443/v1/orders%2F7" || e.RetryAfter != 0 {
			t.Errorf("%d: %#v", status, err)
		}
	}
	if err := httpstatus.Check(nil); err == nil {
		t.Error("no response is a success")
	}
}

func TestErrorTexts(t *testing.T) {
	own := errors.New("the order is gone")
	long := response(500)
	long.Request.URL.Path, long.Request.URL.RawPath = "/"+strings.Repeat("x", 1000), ""
	for want, err := range map[string]error{
		"POST api.example.com:8443/v1/orders%2F7: status 404 Not Found":                            httpstatus.Check(response(404)),
		"POST api.example.com:8443/v1/orders%2F7: status 503 Service Unavailable, retry after 30s": httpstatus.Check(response(503, "Retry-After", "30")),
		"status 418 I'm a teapot":                httpstatus.Check(&http.Response{StatusCode: 418}),
		"GET example.com/: status 599":           httpstatus.Check(&http.Response{StatusCode: 599, Request: &http.Request{URL: &url.URL{Host: "example.com", Path: "/"}}}),
		"POST: status 500 Internal Server Error": httpstatus.Check(&http.Response{StatusCode: 500, Request: &http.Request{Method: "POST"}}),
		"status 410 Gone: the order is gone":     &httpstatus.Error{Status: 410, Err: own},
		"POST api.example.com:8443/" + strings.Repeat("x", 199) + "…: status 500 Internal Server Error": httpstatus.Check(long),
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !errors.Is(&httpstatus.Error{Err: own}, own) {
		t.Error("the client's own error is not wrapped")
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // now is Sat, 01 Jan 2000 00:00:00 GMT
		const most = httpstatus.MaxRetryAfter
		for _, c := range []struct {
			value, date string
			want        time.Duration
		}{
			{"", "", 0},
			{"0", "", 0},
			{"30", "", 30 * time.Second},
			{" 30 ", "", 30 * time.Second},
			{"43200", "", most},
			{"43201", "", most},
			{"99999999999999999999999", "", most},
			{"-30", "", 0},
			{"+30", "", 0},
			{"1.5", "", 0},
			{"soon", "", 0},
			{"30s", "", 0},
			{"Sat, 01 Jan 2000 00:01:00 GMT", "", time.Minute},
			{"Saturday, 01-Jan-00 00:01:00 GMT", "", time.Minute}, // the two obsolete forms
			{"Sat Jan  1 00:01:00 2000", "", time.Minute},
			{"Fri, 31 Dec 1999 23:59:00 GMT", "", 0}, // past
			{"Sun, 02 Jan 2000 00:00:00 GMT", "", most},
			{"Sat, 01 Jan 2000 00:01:00 GMT", "Sat, 01 Jan 2000 00:00:20 GMT", 40 * time.Second},
			{"Sat, 01 Jan 2000 09:01:00 GMT", "Sat, 01 Jan 2000 09:00:20 GMT", 40 * time.Second}, // its clock is wrong
			{"Sat, 01 Jan 2000 00:01:00 GMT", "yesterday", time.Minute},
			{"Sat, 01 Jan 2000 00:01:00", "", 0},
			{"30", "Sat, 01 Jan 2000 00:00:20 GMT", 30 * time.Second},
		} {
			if got := httpstatus.RetryAfter(http.Header{"Retry-After": {c.value}, "Date": {c.date}}); got != c.want {
				t.Errorf("%q at %q: %v, want %v", c.value, c.date, got, c.want)
			}
		}
		if got := httpstatus.RetryAfter(nil); got != 0 {
			t.Errorf("without a header: %v", got)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("30", "")
	f.Add("Sat, 01 Jan 2000 00:01:00 GMT", "Sat, 01 Jan 2000 00:00:20 GMT")
	f.Add("99999999999999999999999", "x")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, value, date string) {
		got := httpstatus.RetryAfter(http.Header{"Retry-After": {value}, "Date": {date}})
		if got < 0 || got > httpstatus.MaxRetryAfter {
			t.Errorf("%v", got)
		}
	})
}
