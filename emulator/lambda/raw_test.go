package lambda_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
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
			r := send(t, d, c.do)
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
			r := send(t, d, do)
			if r.Error == nil || r.Error.Type != "Runtime.Unknown" || string(r.Payload) != document {
				t.Errorf("payload %s, %v", r.Payload, r.Error)
			}
		})
	}
}

// A process that has room for two and hangs in the first takes nothing any
// more: every later invocation times out, and Close ends it.
func TestSharedProcessThatHangs(t *testing.T) {
	d := deploy(t, "raw", func(f *lambda.Function) {
		f.Concurrency, f.ConcurrencyPerEnvironment, f.Timeout = 1, 2, 300*time.Millisecond
	})
	for range 5 {
		mustFail(t, send(t, d, "hang"), "Sandbox.Timedout", "Task timed out after 0.30 seconds")
	}
	_ = d.Close()
}

// Close also ends what such a process has not taken.
func TestSharedProcessThatHangsClosed(t *testing.T) {
	lines := newRecorder()
	d := deploy(t, "raw", func(f *lambda.Function) { f.Concurrency, f.ConcurrencyPerEnvironment, f.Output = 1, 2, lines.add })
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := d.Invoke(context.Background(), []byte("hang")); err == nil {
				t.Error("an answer")
			}
		})
	}
	lines.wait(func(l lambda.Line) bool { return l.Text == "hanging" })
	_ = d.Close()
	both.Wait()
}

// A process that asks for an invocation and loses that connection is ended when
// the next invocation's time is over.
func TestProcessThatNeverAsksAgain(t *testing.T) {
	lines := newRecorder()
	d := deploy(t, "raw", func(f *lambda.Function) { f.Timeout, f.Output = 2*time.Second, lines.add })
	mustAnswer(t, send(t, d, "leave"), "fine")
	lines.wait(func(l lambda.Line) bool { return l.Text == "left" })
	mustFail(t, send(t, d, "answer"), "Sandbox.Timedout", "Task timed out after 2.00 seconds")
	again := send(t, d, "answer")
	mustAnswer(t, again, "fine")
	if !again.ColdStart {
		t.Error("the process was kept")
	}
}

// Half of a response at the timeout is none: it is a timeout, not the end of a
// connection that the timeout itself has ended.
func TestTimeoutInAResponse(t *testing.T) {
	d := deploy(t, "raw", func(f *lambda.Function) { f.Timeout = time.Second })
	r := send(t, d, "hang in a response")
	mustFail(t, r, "Sandbox.Timedout", "Task timed out after 1.00 seconds")
	if r.Duration < time.Second {
		t.Errorf("duration %v", r.Duration)
	}
}
