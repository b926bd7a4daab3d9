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

// runtimeURL is where a bootstrap finds the Runtime API.
func runtimeURL() string {
	return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/"
}

// post sends to the Runtime API.
func post(path, body string) {
	if resp, err := http.Post(runtimeURL()+path, "application/json", strings.NewReader(body)); err == nil {
		_ = resp.Body.Close()
	}
}

// raw is a bootstrap that hangs. The payload of each invocation says when.
func raw() {
	for {
		resp, err := http.Get(runtimeURL() + "invocation/next")
		if err != nil {
			os.Exit(1)
		}
		do, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		id := resp.Header.Get("Lambda-Runtime-Aws-Request-Id")
		switch string(do) {
		case "answer":
			post("invocation/"+id+"/response", "fine")
		case "hang in a response":
			conn, err := net.Dial("tcp", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
			if err != nil {
				os.Exit(1)
			}
			fmt.Fprintf(conn, "POST /2018-06-01/runtime/invocation/%s/response HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf", id)
			select {}
		case "hang":
			fmt.Println("hanging")
			select {}
		case "leave": // ask for an invocation and do not wait for it
			post("invocation/"+id+"/response", "fine")
			client := http.Client{Timeout: 200 * time.Millisecond}
			_, _ = client.Get(runtimeURL() + "invocation/next")
			fmt.Println("left")
			select {}
		}
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
