package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The tests of this file send the requests of a runtime, without a process: requests of
// broken or hostile programs.

func startAPI(t *testing.T, concurrency int) *runtimeAPI {
	t.Helper()
	fn := Function{Command: []string{"x"}, Name: "worker", Timeout: time.Minute, ConcurrencyPerEnvironment: concurrency}.withDefaults()
	api, err := serveRuntimeAPI(fn)
	OK(t, err)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		api.close()
	})
	return api
}

// ask sends a request and returns the answer with its body read.
func (api *runtimeAPI) ask(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+api.addr+path, strings.NewReader(body))
	OK(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	OK(t, err)
	return resp, string(got)
}

const (
	nextPath   = "/2018-06-01/runtime/invocation/next"
	answerPath = "/2018-06-01/runtime/invocation/%s/%s"
)

// take delivers an invocation to a next request.
func (api *runtimeAPI) take(t *testing.T, payload string) (*invocation, *http.Response) {
	t.Helper()
	inv := newInvocation([]byte(payload))
	go func() { api.work <- inv }()
	resp, body := api.ask(t, http.MethodGet, nextPath, "")
	if resp.StatusCode != http.StatusOK || body != payload {
		t.Fatalf("next: %s %s", resp.Status, body)
	}
	return inv, resp
}

// The headers of "Using the Lambda runtime API for custom runtimes", Next
// invocation. The headers of the mobile SDK and of tenants do not occur with SQS.
func TestNextHeaders(t *testing.T) {
	api := startAPI(t, 1)
	if host, _, err := net.SplitHostPort(api.addr); err != nil || !net.ParseIP(host).IsLoopback() {
		t.Errorf("listens on %s", api.addr)
	}
	inv, resp := api.take(t, `{"Records":[]}`)
	for name, want := range map[string]string{
		"Lambda-Runtime-Aws-Request-Id":       inv.id,
		"Lambda-Runtime-Deadline-Ms":          fmt.Sprint(inv.deadline.UnixMilli()),
		"Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:000000000000:function:worker",
		"Lambda-Runtime-Trace-Id":             inv.traceID,
		"Content-Type":                        "application/json",
		"Lambda-Runtime-Client-Context":       "",
		"Lambda-Runtime-Cognito-Identity":     "",
		"Lambda-Runtime-Aws-Tenant-Id":        "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if left := time.Until(inv.deadline); left > time.Minute || left < 30*time.Second {
		t.Errorf("%v until the deadline, want about a minute", left)
	}
}

// Every invalid request is answered with a 4xx and an error document with the reason, and
// has no effect on the invocation.
func TestRuntimeAPIRefusals(t *testing.T) {
	api := startAPI(t, 1)
	inv, _ := api.take(t, "{}")
	const register, event = "/2020-01-01/extension/register", "/2020-01-01/extension/event/next"
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		errorType          string
	}{
		{http.MethodGet, "/", "", nil, 404, "NotFound"},
		{http.MethodGet, "/2018-06-01/runtime/", "", nil, 404, "NotFound"},
		{http.MethodGet, "/2019-01-01/runtime/invocation/next", "", nil, 404, "NotFound"},
		{http.MethodPost, "/2018-06-01/runtime/restore/error", "{}", nil, 404, "NotFound"},
		{http.MethodPut, "/2022-07-01/telemetry", "{}", nil, 404, "NotFound"},
		{http.MethodPut, "/2020-08-15/logs", "{}", nil, 404, "NotFound"},
		{http.MethodPost, "/2020-01-01/extension/init/error", "{}", nil, 404, "NotFound"},
		{http.MethodPost, nextPath, "", nil, 405, "MethodNotAllowed"},
		{http.MethodGet, fmt.Sprintf(answerPath, inv.id, "response"), "", nil, 405, "MethodNotAllowed"},
		{http.MethodPut, fmt.Sprintf(answerPath, inv.id, "error"), "", nil, 405, "MethodNotAllowed"},
		{http.MethodDelete, "/2018-06-01/runtime/init/error", "", nil, 405, "MethodNotAllowed"},
		{http.MethodGet, register, "", nil, 405, "MethodNotAllowed"},
		{http.MethodGet, nextPath, "", nil, 403, "InvalidStateTransition"},                              // not answered yet
		{http.MethodGet, nextPath, "", []string{"Origin", "https://evil.example"}, 403, "AccessDenied"}, // a web page; see package webguard
		{http.MethodPost, "/2018-06-01/runtime/init/error", "{}", nil, 403, "InvalidStateTransition"},
		{http.MethodPost, fmt.Sprintf(answerPath, "nobody", "response"), "x", nil, 400, "InvalidRequestID"},
		{http.MethodPost, fmt.Sprintf(answerPath, "nobody", "error"), "x", nil, 400, "InvalidRequestID"},
		{http.MethodPost, fmt.Sprintf(answerPath, "%00%FF", "response"), "x", nil, 400, "InvalidRequestID"},
		{http.MethodPost, fmt.Sprintf(answerPath, strings.Repeat("x", 4096), "response"), "x", nil, 400, "InvalidRequestID"},
		{http.MethodPost, register, `{"events":[]}`, nil, 400, "InvalidExtensionName"},
		{http.MethodPost, register, `{"events":["INVOKE"]}`, []string{"Lambda-Extension-Name", "x"}, 400, "InvalidEventType"},
		{http.MethodPost, register, `garbage`, []string{"Lambda-Extension-Name", "x"}, 400, "InvalidRequestFormat"},
		{http.MethodPost, register, strings.Repeat(" ", 1<<20), []string{"Lambda-Extension-Name", "x"}, 400, "InvalidRequestFormat"},
		{http.MethodGet, event, "", nil, 403, "Extension.UnknownExtensionIdentifier"},
		{http.MethodGet, event, "", []string{extensionHeader, "nobody"}, 403, "Extension.UnknownExtensionIdentifier"},
	} {
		resp, body := api.ask(t, c.method, c.path, c.body, c.header...)
		var doc struct{ ErrorMessage, ErrorType string }
		if err := json.Unmarshal([]byte(body), &doc); err != nil || resp.StatusCode != c.status || doc.ErrorType != c.errorType || doc.ErrorMessage == "" {
			t.Errorf("%s %.60s: %s %s, want %d %s", c.method, c.path, resp.Status, body, c.status, c.errorType)
		}
		if c.status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
	if resp, _ := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "response"), "fine"); resp.StatusCode != http.StatusAccepted {
		t.Errorf("the answer after all that: %s", resp.Status)
	}
	if a := <-inv.answer; a.err != nil || string(a.payload) != "fine" {
		t.Errorf("answer %s, %v", a.payload, a.err)
	}
}

// Results of invocations with unusual answers of the runtime.
func TestOddAnswers(t *testing.T) {
	api := startAPI(t, 1)
	for _, c := range []struct {
		body               string
		header             []string
		errorType, message string
		payload            string
	}{
		{"it broke", []string{"Lambda-Runtime-Function-Error-Type", "Function.Broken"}, "Function.Broken", "it broke", `{"errorMessage":"it broke","errorType":"Function.Broken"}`},
		{`{"errorType":"T","errorMessage":"m"}`, []string{"Lambda-Runtime-Function-Xray-Error-Cause", strings.Repeat("x", 1<<20-1)}, "T", "m", `{"errorType":"T","errorMessage":"m"}`},
		// A document without the expected fields is kept unchanged.
		{`{"errorMessage":"m"}`, nil, "Runtime.Unknown", "m", `{"errorMessage":"m"}`},
		{`{"errorType":7,"errorMessage":"m"}`, nil, "Runtime.Unknown", `"m"`, `{"errorType":7,"errorMessage":"m"}`},
	} {
		inv, _ := api.take(t, "{}")
		resp, body := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "error"), c.body, c.header...)
		if resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%.80s: %s %s", c.body, resp.Status, body)
		}
		a := <-inv.answer
		if a.err == nil || a.err.Type != c.errorType || !strings.Contains(a.err.Message, c.message) || string(a.payload) != c.payload {
			t.Errorf("%.80s: error %v, payload %s", c.body, a.err, a.payload)
		}
	}

	inv, _ := api.take(t, "{}")
	conn, err := net.Dial("tcp", api.addr)
	OK(t, err)
	fmt.Fprintf(conn, "POST "+answerPath+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf", inv.id, "response")
	_ = conn.Close()
	if a := <-inv.answer; a.err == nil || a.err.Type != "Runtime.TruncatedResponse" || !strings.Contains(a.err.Message, "the response ended after 4 bytes") {
		t.Errorf("half a response: %v", a.err)
	}

	// As aws-lambda-go answers when a handler returns a reader.
	inv, _ = api.take(t, "{}")
	r, _ := http.NewRequest(http.MethodPost, "http://"+api.addr+fmt.Sprintf(answerPath, inv.id, "response"), io.MultiReader(strings.NewReader("streamed")))
	r.Trailer = http.Header{"Lambda-Runtime-Function-Error-Type": {"T"}, "Lambda-Runtime-Function-Error-Body": {"e30="}}
	r.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	resp, err := http.DefaultClient.Do(r)
	OK(t, err)
	_ = resp.Body.Close()
	if a := <-inv.answer; a.err != nil || string(a.payload) != "streamed" {
		t.Errorf("a stream with trailers: %s, %v", a.payload, a.err)
	}
}

func TestResponseTooLarge(t *testing.T) {
	api := startAPI(t, 1)
	for _, c := range []struct{ size, status int }{{maxResponse, 202}, {maxResponse + 1, 413}, {maxResponse + 4<<20, 413}} {
		inv, _ := api.take(t, "{}")
		resp, body := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "response"), strings.Repeat("x", c.size))
		if resp.StatusCode != c.status {
			t.Errorf("%d bytes: %s, want %d", c.size, resp.Status, c.status)
		}
		a := <-inv.answer
		if c.status == 202 {
			if a.err != nil || len(a.payload) != c.size {
				t.Errorf("%d bytes: %v", c.size, a.err)
			}
			continue
		}
		if !strings.Contains(body, "RequestEntityTooLarge") || a.err == nil || a.err.Type != "Function.ResponseSizeTooLarge" || !strings.Contains(a.err.Message, fmt.Sprint(c.size)) {
			t.Errorf("%d bytes: told %s, error %v", c.size, body, a.err)
		}
	}
}

// In a shared environment a request waits for each place, and answers come in any order.
func TestSharedRuntimeAPI(t *testing.T) {
	api := startAPI(t, 2)
	one, _ := api.take(t, "1")
	two, _ := api.take(t, "2")
	if resp, _ := api.ask(t, http.MethodGet, nextPath, ""); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a third request with two unanswered: %s", resp.Status)
	}
	for _, inv := range []*invocation{two, one} {
		resp, _ := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "response"), inv.id)
		if a := <-inv.answer; resp.StatusCode != http.StatusAccepted || string(a.payload) != inv.id {
			t.Errorf("%s: answer %s", resp.Status, a.payload)
		}
		if resp, _ := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "response"), "again"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("a second answer: %s", resp.Status)
		}
		if resp, _ := api.ask(t, http.MethodPost, fmt.Sprintf(answerPath, inv.id, "error"), "{}"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("an error after the answer: %s", resp.Status)
		}
	}
	gone, three := newInvocation([]byte("given up")), newInvocation([]byte("3"))
	if !gone.abandon() {
		t.Error("it cannot be given up")
	}
	offered := make(chan struct{})
	go func() {
		api.work <- gone
		close(offered)
		api.work <- three
	}()
	if _, body := api.ask(t, http.MethodGet, nextPath, ""); body != "3" { // skips the abandoned invocation
		t.Errorf("next: %s", body)
	}
	<-offered
	if isClosed(gone.delivered) {
		t.Error("delivered an abandoned invocation")
	}
	if len(api.invocations) != 1 {
		t.Errorf("%d invocations are kept, want the unanswered one", len(api.invocations))
	}
}

// An invocation that a request got at the moment its client left is offered again.
func TestNextOfAClientThatHasLeft(t *testing.T) {
	api := startAPI(t, 1)
	e := newEnvironment(&Deployment{fn: api.fn, ctx: t.Context()}, 1)
	inv, taken := newInvocation(nil), make(chan bool)
	go func() {
		ok, _ := e.deliver(&process{api: api}, inv, false, nil)
		taken <- ok
	}()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	left := httptest.NewRequestWithContext(ctx, http.MethodGet, nextPath, nil)
	for range 3 {
		if delivered, gone := api.deliver(left, <-api.work); delivered || !gone {
			t.Fatalf("delivered %t, gone %t", delivered, gone)
		}
	}
	api.ask(t, http.MethodGet, nextPath, "")
	if !<-taken || !isClosed(inv.delivered) {
		t.Error("it was not delivered")
	}
}
