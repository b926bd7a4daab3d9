package httpstatus_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

func response(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	u, _ := url.Parse("https://jane:sesame@api.example.com:8443/v1/orders%2F7?token=sesame#sesame")
	return &http.Response{StatusCode: status, Header: h, Body: unread{}, Request: &http.Request{Method: "POST", URL: u}}
}

// unread is a body that must not be read.
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
