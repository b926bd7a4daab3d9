package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// deploy starts the test binary as a function.
func deploy(t *testing.T, mode string, change func(*lambda.Function)) *lambda.Deployment {
	t.Helper()
	exe, err := os.Executable()
	ok(t, err)
	fn := lambda.Function{
		Name:    "worker",
		Command: []string{exe},
		Timeout: 30 * time.Second, // far from what a loaded machine needs
		Env:     map[string]string{"TEST_BOOTSTRAP": mode},
	}
	if change != nil {
		change(&fn)
	}
	d, err := lambda.Start(fn)
	ok(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func invoke(t *testing.T, d *lambda.Deployment, c command) lambda.Result {
	t.Helper()
	r, err := d.Invoke(context.Background(), c.payload(t))
	if err != nil {
		t.Fatalf("invoke %s: %v", c.Do, err)
	}
	return r
}

func mustAnswer(t *testing.T, r lambda.Result, want string) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("function error %v, want the answer %s", r.Error, want)
	}
	if got := string(r.Payload); got != want {
		t.Fatalf("answer %s, want %s", got, want)
	}
}

func mustFail(t *testing.T, r lambda.Result, errorType, message string) *lambda.FunctionError {
	t.Helper()
	if r.Error == nil {
		t.Fatalf("answer %.100s, want the error %s", r.Payload, errorType)
	}
	if r.Error.Type != errorType || !strings.Contains(r.Error.Message, message) {
		t.Fatalf("error %v, want %s with %q (output %q)", r.Error, errorType, message, r.Error.Output)
	}
	var doc struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(r.Payload, &doc); err != nil || doc.ErrorType != errorType {
		t.Fatalf("payload %s, want the error's document", r.Payload)
	}
	return r.Error
}

func TestProcessIsReusedWarm(t *testing.T) {
	d := deploy(t, "worker", nil)
	first := invoke(t, d, command{Do: "echo", Text: "one"})
	mustAnswer(t, first, `"one"`)
	second := invoke(t, d, command{Do: "echo", Text: "two"})
	mustAnswer(t, second, `"two"`)
	if !first.ColdStart || second.ColdStart || first.Init <= 0 || second.Init != 0 {
		t.Errorf("cold starts %v (init %v), %v (init %v): want the first only", first.ColdStart, first.Init, second.ColdStart, second.Init)
	}
	if first.Environment != 1 || second.Environment != 1 {
		t.Errorf("environments %d and %d, want 1 twice", first.Environment, second.Environment)
	}
	if first.RequestID == second.RequestID || len(first.RequestID) != 36 {
		t.Errorf("request ids %q and %q", first.RequestID, second.RequestID)
	}
}

func TestProcessErrors(t *testing.T) {
	d := deploy(t, "worker", nil)
	steps := []struct {
		name          string
		do            command
		errorType     string
		message       string
		stack, output bool
		cold          bool // of this step
	}{
		{"error", command{Do: "error", Text: "no stock"}, "testError", "no stock", false, false, true},
		{"after an error the process lives", command{Do: "error", Text: "again"}, "testError", "again", false, false, false},
		{"panic", command{Do: "panic", Text: "boom"}, "errorString", "boom", true, false, false},
		{"after a panic it is a new one", command{Do: "exit", Size: 1}, "Runtime.ExitError", "Error: Runtime exited with error: exit status 1", false, true, true},
		{"exit 0", command{Do: "exit"}, "Runtime.ExitError", "Error: Runtime exited without providing a reason", false, true, true},
		{"big response", command{Do: "big", Size: 7 << 20}, "Function.ResponseSizeTooLarge", "exceeded maximum allowed payload size (6291556 bytes)", false, false, true},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			r := invoke(t, d, s.do)
			ferr := mustFail(t, r, s.errorType, s.message)
			if (ferr.StackTrace != nil) != s.stack {
				t.Errorf("stack trace %s", ferr.StackTrace)
			}
			if s.output && !slices.Contains(ferr.Output, "exiting") {
				t.Errorf("output %q, want what it printed", ferr.Output)
			}
			if s.errorType == "Runtime.ExitError" && !strings.Contains(ferr.Message, r.RequestID) {
				t.Errorf("message %q lacks the request id", ferr.Message)
			}
			if r.ColdStart != s.cold {
				t.Errorf("cold start %v, want %v", r.ColdStart, s.cold)
			}
		})
	}
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "well"}), `"well"`)
}

func TestTimeoutKillsTheProcess(t *testing.T) {
	var lines recorder
	d := deploy(t, "worker", func(f *lambda.Function) { f.Timeout, f.Output = time.Second, lines.add })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "warm"}), `"warm"`)
	r := invoke(t, d, command{Do: "hang"})
	mustFail(t, r, "Sandbox.Timedout", "RequestId: "+r.RequestID+" Error: Task timed out after 1.00 seconds")
	if r.Duration < time.Second || r.ColdStart {
		t.Errorf("duration %v, cold %v", r.Duration, r.ColdStart)
	}
	next := invoke(t, d, command{Do: "echo", Text: "next"})
	mustAnswer(t, next, `"next"`)
	if !next.ColdStart || next.Environment != r.Environment {
		t.Errorf("cold %v in environment %d, want a new process in %d", next.ColdStart, next.Environment, r.Environment)
	}
}

func TestInitExitIsToldAtOnce(t *testing.T) {
	d := deploy(t, "exit-at-start", nil)
	begin := time.Now()
	for range 3 {
		r := invoke(t, d, command{Do: "echo"})
		ferr := mustFail(t, r, "Runtime.ExitError", "Runtime exited with error: exit status 3")
		if !ferr.Init || !r.ColdStart {
			t.Errorf("init %v, cold %v", ferr.Init, r.ColdStart)
		}
		slices.Sort(ferr.Output) // two pipes have no order
		if want := []string{"giving up", "no configuration found"}; !slices.Equal(ferr.Output, want) {
			t.Errorf("output %q, want %q", ferr.Output, want)
		}
	}
	if took := time.Since(begin); took < 300*time.Millisecond { // 100 ms, then 200 ms
		t.Errorf("three failing starts within %v: a hot loop", took)
	}
}

func TestMissingProgram(t *testing.T) {
	d := deploy(t, "", func(f *lambda.Function) { f.Command = []string{"./no-such-bootstrap"} })
	if ferr := mustFail(t, invoke(t, d, command{}), "Runtime.InvalidEntrypoint", "no-such-bootstrap"); !ferr.Init {
		t.Error("not an init error")
	}
}

func TestProcessThatEndsWhileIdle(t *testing.T) {
	d := deploy(t, "worker", nil)
	pid, err := strconv.Atoi(string(invoke(t, d, command{Do: "pid"}).Payload))
	ok(t, err)
	process, err := os.FindProcess(pid)
	ok(t, err)
	ok(t, process.Kill())
	d.AwaitExit()
	r := invoke(t, d, command{Do: "echo", Text: "back"})
	mustAnswer(t, r, `"back"`)
	if !r.ColdStart {
		t.Error("not a cold start")
	}
}

func TestConcurrencyLimit(t *testing.T) {
	var lines recorder
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency, f.Output = 2, lines.add })
	var wg sync.WaitGroup
	payload := command{Do: "hang"}.payload(t) // until the end
	for range 2 {
		wg.Go(func() {
			if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrClosed) {
				t.Errorf("%v, want ErrClosed", err)
			}
		})
	}
	for env := range 2 { // both are under way
		lines.wait(t, func(l lambda.Line) bool { return l.RequestID != "" && l.Environment == env+1 })
	}
	if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("%v, want ErrThrottled", err)
	}
	_ = d.Close()
	wg.Wait()
}
