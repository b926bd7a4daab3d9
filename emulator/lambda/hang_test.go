package lambda_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// within fails unless run returns; it has far more time than it needs.
func within(t *testing.T, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
}

// send invokes with what a raw bootstrap is to do.
func send(t *testing.T, d *lambda.Deployment, do string) (r lambda.Result) {
	t.Helper()
	var err error
	within(t, func() { r, err = d.Invoke(context.Background(), []byte(do)) })
	ok(t, err)
	return r
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
	within(t, func() { _ = d.Close() })
}

// Close also ends what such a process has not taken.
func TestSharedProcessThatHangsClosed(t *testing.T) {
	var lines recorder
	d := deploy(t, "raw", func(f *lambda.Function) { f.Concurrency, f.ConcurrencyPerEnvironment, f.Output = 1, 2, lines.add })
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := d.Invoke(context.Background(), []byte("hang")); err == nil {
				t.Error("an answer")
			}
		})
	}
	lines.wait(t, func(l lambda.Line) bool { return l.Text == "hanging" })
	within(t, func() { _ = d.Close() })
	both.Wait()
}

// A process that asks for an invocation and loses that connection is ended when
// the next invocation's time is over.
func TestProcessThatNeverAsksAgain(t *testing.T) {
	var lines recorder
	d := deploy(t, "raw", func(f *lambda.Function) { f.Timeout, f.Output = 2*time.Second, lines.add })
	mustAnswer(t, send(t, d, "leave"), "fine")
	lines.wait(t, func(l lambda.Line) bool { return l.Text == "left" })
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
