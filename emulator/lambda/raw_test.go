package lambda_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// post sends to the Runtime API and returns the answer's status and body.
func post(path, body string, header ...string) string {
	r, err := http.NewRequest(http.MethodPost, "http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01"+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return answer(http.DefaultClient.Do(r))
}

func answer(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

func next() (id, payload string) {
	resp, err := http.Get("http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/next")
	if err != nil {
		return "", err.Error()
	}
	id = resp.Header.Get("Lambda-Runtime-Aws-Request-Id")
	return id, strings.TrimPrefix(answer(resp, nil), "200 ")
}

// raw is a bootstrap that breaks the rules. The
// payload of each invocation says how.
func raw() {
	for {
		id, do := next()
		invocation := "/runtime/invocation/" + id
		switch do {
		case "answer":
			post(invocation+"/response", "fine")
		case "error that is no JSON":
			post(invocation+"/error", "it broke", "Lambda-Runtime-Function-Error-Type", "Function.Broken")
		case "error without a type":
			post(invocation+"/error", `{"errorMessage":"m"}`)
		case "error with the wrong types":
			post(invocation+"/error", `{"errorType":7,"errorMessage":"m"}`)
		case "error with a large X-Ray cause":
			post(invocation+"/error", `{"errorType":"T","errorMessage":"m"}`,
				"Lambda-Runtime-Function-Xray-Error-Cause", strings.Repeat("x", 1<<20-1))
		case "stream with trailers":
			stream(id)
		case "cut off":
			_ = half(id).Close()
		case "hang in a response":
			half(id)
			select {}
		case "hang":
			fmt.Println("hanging")
			select {}
		case "leave":
			post(invocation+"/response", "fine")
			leave()
			fmt.Println("left")
			select {}
		}
	}
}

// stream answers as aws-lambda-go does when a handler returns a reader.
func stream(id string) {
	r, _ := http.NewRequest(http.MethodPost, "http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/invocation/"+id+"/response", io.MultiReader(strings.NewReader("streamed")))
	r.Trailer = http.Header{"Lambda-Runtime-Function-Error-Type": {"T"}, "Lambda-Runtime-Function-Error-Body": {"e30="}}
	r.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	answer(http.DefaultClient.Do(r))
}

// half sends half of a response.
func half(id string) net.Conn {
	conn, err := net.Dial("tcp", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintf(conn, "POST /2018-06-01/runtime/invocation/%s/response HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf", id)
	return conn
}

// leave asks for an invocation and does not wait for it.
func leave() {
	client := http.Client{Timeout: 200 * time.Millisecond}
	_, _ = client.Get("http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/next")
}

// What happens to an invocation whose bootstrap answers in odd ways. What such a
// bootstrap gets as an answer is in TestRuntimeAPIRefusals.
func TestRuntimeAPIRules(t *testing.T) {
	d := deploy(t, "raw", nil)
	cases := []struct {
		do        string
		answer    string
		errorType string // "" for none
		message   string
	}{
		{"stream with trailers", "streamed", "", ""},
		{"error that is no JSON", "", "Function.Broken", "it broke"},
		{"error with a large X-Ray cause", "", "T", "m"},
		{"cut off", "", "Runtime.TruncatedResponse", "the response ended after 4 bytes"},
	}
	for _, c := range cases {
		t.Run(c.do, func(t *testing.T) {
			r, err := d.Invoke(t.Context(), []byte(c.do))
			ok(t, err)
			if c.errorType == "" {
				mustAnswer(t, r, c.answer)
			} else {
				mustFail(t, r, c.errorType, c.message)
			}
		})
	}
	// A document without what belongs in it is kept as it came.
	for do, document := range map[string]string{
		"error without a type":       `{"errorMessage":"m"}`,
		"error with the wrong types": `{"errorType":7,"errorMessage":"m"}`,
	} {
		t.Run(do, func(t *testing.T) {
			r, err := d.Invoke(t.Context(), []byte(do))
			if err != nil || r.Error == nil || r.Error.Type != "Runtime.Unknown" || string(r.Payload) != document {
				t.Errorf("payload %s, %v, %v", r.Payload, r.Error, err)
			}
		})
	}
}

func TestInitErrorInItsOwnWords(t *testing.T) {
	d := deploy(t, "init-error", nil)
	r, err := d.Invoke(t.Context(), nil)
	ok(t, err)
	if ferr := mustFail(t, r, "Function.NoConfig", "no table name"); !ferr.Init {
		t.Error("not an init error")
	}
}

// What hangs before its first invocation is ended, the init limit (10 s) and
// the timeout later.
func TestInitTimeout(t *testing.T) {
	d := deploy(t, "hang-at-start", func(f *lambda.Function) { f.Timeout = 100 * time.Millisecond })
	d.SetInitTimeout(200 * time.Millisecond)
	r, err := d.Invoke(t.Context(), nil)
	ok(t, err)
	if ferr := mustFail(t, r, "Sandbox.Timedout", "Task timed out after 0.30 seconds"); !ferr.Init {
		t.Error("not an init error")
	}
}
