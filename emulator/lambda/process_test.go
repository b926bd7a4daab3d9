package lambda_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
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
		Timeout: 30 * time.Second, // enough for a busy machine
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

// send invokes with a payload.
func send(t *testing.T, d *lambda.Deployment, payload string) lambda.Result {
	t.Helper()
	r, err := d.Invoke(t.Context(), []byte(payload))
	ok(t, err)
	return r
}

func invoke(t *testing.T, d *lambda.Deployment, c command) lambda.Result {
	t.Helper()
	return send(t, d, string(c.payload(t)))
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

// A process is reused until it ends or is killed at a timeout.
func TestProcessIsReusedWarm(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) { f.Timeout = 2 * time.Second })
	wantStart := func(r lambda.Result, cold bool) {
		t.Helper()
		if r.ColdStart != cold || (r.Init > 0) != cold || r.Environment != 1 {
			t.Errorf("cold start %v (init %v) in environment %d, want %v in 1", r.ColdStart, r.Init, r.Environment, cold)
		}
	}
	first := invoke(t, d, command{Do: "pid"})
	wantStart(first, true)
	second := invoke(t, d, command{Do: "echo", Text: "two"})
	mustAnswer(t, second, `"two"`)
	wantStart(second, false)
	if first.RequestID == second.RequestID || len(first.RequestID) != 36 {
		t.Errorf("request ids %q and %q", first.RequestID, second.RequestID)
	}

	if n := d.Kill(); n != 1 {
		t.Errorf("Kill killed %d processes", n)
	}
	d.AwaitExit()
	if n := d.Kill(); n != 0 {
		t.Errorf("Kill killed %d processes that had ended", n)
	}
	third := invoke(t, d, command{Do: "echo", Text: "back"})
	mustAnswer(t, third, `"back"`)
	wantStart(third, true)

	late := invoke(t, d, command{Do: "hang"})
	mustFail(t, late, "Sandbox.Timedout", "RequestId: "+late.RequestID+" Error: Task timed out after 2.00 seconds")
	wantStart(late, false)
	if late.Duration < 2*time.Second {
		t.Errorf("duration %v", late.Duration)
	}
	next := invoke(t, d, command{Do: "echo", Text: "next"})
	mustAnswer(t, next, `"next"`)
	wantStart(next, true)
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
				t.Errorf("output %q, want the printed lines", ferr.Output)
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

// A failed start is reported at once, and the next start waits.
func TestInitFailures(t *testing.T) {
	for _, c := range []struct {
		mode               string
		change             func(*lambda.Function)
		errorType, message string
		output             []string
	}{
		{"exit-at-start", nil, "Runtime.ExitError", "Runtime exited with error: exit status 3", []string{"giving up", "no configuration found"}},
		{"init-error", nil, "Function.NoConfig", "no table name", nil}, // the function's own error
		{"", func(f *lambda.Function) { f.Command = []string{"./no-such-bootstrap"} }, "Runtime.InvalidEntrypoint", "no-such-bootstrap", nil},
		// A hanging process is killed after the init limit (10 s) and the timeout.
		{"hang-at-start", func(f *lambda.Function) { f.Timeout = 100 * time.Millisecond }, "Sandbox.Timedout", "Task timed out after 0.30 seconds", nil},
	} {
		t.Run(c.mode, func(t *testing.T) {
			d := deploy(t, c.mode, c.change)
			if c.mode == "hang-at-start" {
				d.SetInitTimeout(200 * time.Millisecond)
			}
			begin := time.Now()
			for range 3 {
				r := invoke(t, d, command{Do: "echo"})
				ferr := mustFail(t, r, c.errorType, c.message)
				if !ferr.Init || !r.ColdStart {
					t.Errorf("init %v, cold %v", ferr.Init, r.ColdStart)
				}
				slices.Sort(ferr.Output) // two pipes have no order
				if !slices.Equal(ferr.Output, c.output) {
					t.Errorf("output %q, want %q", ferr.Output, c.output)
				}
			}
			if took := time.Since(begin); took < 300*time.Millisecond { // 100 ms, then 200 ms
				t.Errorf("three failing starts within %v: a hot loop", took)
			}
		})
	}
}

// Two invocations run at a time, a third is throttled. Several goroutines may call Close,
// and no process remains.
func TestConcurrencyLimitAndClose(t *testing.T) {
	do := "child" // would outlive its parent
	if !canTerminate {
		do = "hang"
	}
	lines := newRecorder()
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency, f.Output = 2, lines.add })
	var wg sync.WaitGroup
	payload := command{Do: do}.payload(t)
	for range 2 {
		wg.Go(func() {
			if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrClosed) {
				t.Errorf("%v, want ErrClosed", err)
			}
		})
	}
	var children []int
	for env := range 2 { // both run
		line := lines.wait(func(l lambda.Line) bool { return l.RequestID != "" && l.Environment == env+1 })
		if canTerminate {
			child, err := strconv.Atoi(line.Text)
			ok(t, err)
			children = append(children, child)
		}
	}
	if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("%v, want ErrThrottled", err)
	}
	for range 4 {
		wg.Go(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	// A killed process takes a moment to be gone.
	tick, patience := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for slices.ContainsFunc(children, alive) {
		select {
		case <-tick.C:
		case <-patience:
			t.Fatalf("the function's children %d are alive", children)
		}
	}
}

func TestCallerGoesAway(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency = 1 })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Invoke(ctx, command{Do: "hang"}.payload(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the caller's deadline", err)
	}
	if _, err := d.Invoke(context.Background(), command{Do: "echo"}.payload(t)); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("%v, want ErrThrottled: the function goes on", err)
	}
}

func TestSIGTERMBeforeKill(t *testing.T) {
	if !canTerminate {
		t.Skip("no SIGTERM here")
	}
	lines := newRecorder()
	d := deploy(t, "sigterm", func(f *lambda.Function) { f.Output = lines.add })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	_ = d.Close()
	lines.wait(func(l lambda.Line) bool { return l.Text == "said goodbye" })
}

// variables returns the environment of a worker.
func variables(t *testing.T, d *lambda.Deployment) map[string]string {
	t.Helper()
	r := invoke(t, d, command{Do: "env"})
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	var list []string
	ok(t, json.Unmarshal(r.Payload, &list))
	env := map[string]string{}
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

func TestEnvironmentVariables(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAREAL")
	t.Setenv("SQSBATCH_CONCURRENCY", "7")
	d := deploy(t, "worker", func(f *lambda.Function) {
		f.Region, f.MemoryMB = "eu-central-1", 512
		f.Env["TABLE"] = "orders"
		f.Env["AWS_SECRET_ACCESS_KEY"] = "given"
	})
	env := variables(t, d)
	exe, err := os.Executable()
	ok(t, err)
	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "worker", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/worker",
		"AWS_REGION":                "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "given", "AWS_SESSION_TOKEN": "test",
		"LAMBDA_TASK_ROOT": filepath.Dir(exe), "_HANDLER": "bootstrap", "TZ": ":UTC",
		"TABLE": "orders", "PATH": os.Getenv("PATH"),
	} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	if s := env["AWS_LAMBDA_LOG_STREAM_NAME"]; !strings.Contains(s, "[$LATEST]") {
		t.Errorf("log stream %q", s)
	}
	for _, name := range []string{"AWS_PROFILE", "SQSBATCH_CONCURRENCY", "AWS_EXECUTION_ENV", "AWS_SAM_LOCAL"} {
		if value, ok := env[name]; ok {
			t.Errorf("%s=%q is passed on", name, value)
		}
	}
}

// A relative Command is relative to the caller's directory.
func TestRelativeCommand(t *testing.T) {
	exe, err := os.Executable()
	ok(t, err)
	here, err := os.Getwd()
	ok(t, err)
	relative, err := filepath.Rel(here, exe)
	if err != nil {
		t.Skip(err)
	}
	d := deploy(t, "worker", func(f *lambda.Function) { f.Command = []string{relative} })
	if root := variables(t, d)["LAMBDA_TASK_ROOT"]; root != filepath.Dir(exe) {
		t.Errorf("task root %s, want %s", root, filepath.Dir(exe))
	}
}

// recorder keeps the lines of Function.Output.
type recorder struct {
	mu    sync.Mutex
	lines []lambda.Line
	added *sync.Cond
}

func newRecorder() *recorder {
	r := &recorder{}
	r.added = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) add(l lambda.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
	r.added.Broadcast()
}

// wait returns the first line that matches. It panics if none comes within a minute.
func (r *recorder) wait(fits func(lambda.Line) bool) lambda.Line {
	late := false
	defer time.AfterFunc(time.Minute, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.added.Broadcast()
	}).Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for seen := 0; ; seen++ {
		for seen == len(r.lines) {
			if late {
				panic(fmt.Sprintf("the line did not come; these did: %+v", r.lines))
			}
			r.added.Wait()
		}
		if fits(r.lines[seen]) {
			return r.lines[seen]
		}
	}
}

func (r *recorder) of(requestID string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l.RequestID == requestID {
			lines = append(lines, l.Stream+" "+l.Text)
		}
	}
	return lines
}

// Each line belongs to the invocation that printed it, also when the next one
// follows at once.
func TestOutputKeepsItsInvocation(t *testing.T) {
	lines := newRecorder()
	d := deploy(t, "worker", func(f *lambda.Function) { f.Output = lines.add })
	printed := map[string][]string{} // by request id
	for i := range 20 {
		var text, want []string
		for j := range 50 {
			text = append(text, fmt.Sprintf("line %d of %d", j, i))
			want = append(want, "stdout "+text[j])
		}
		r := invoke(t, d, command{Do: "print", Text: strings.Join(text, ",")})
		mustAnswer(t, r, "null")
		printed[r.RequestID] = append(want, "stderr on stderr")
	}
	for id, want := range printed {
		got := lines.of(id)
		slices.SortStableFunc(got, func(a, b string) int { return cmp.Compare(b[:6], a[:6]) }) // two pipes have no order
		if !slices.Equal(got, want) {
			t.Errorf("lines %q, want %q", got, want)
		}
	}
	if l := lines.lines[0]; l.Environment != 1 || l.Time.IsZero() {
		t.Errorf("first line %+v", l)
	}
}

// No line is lost if a process prints and ends before a slow reader has read it. A child
// that escapes with the pipes does not delay the end.
func TestOutputAfterTheEnd(t *testing.T) {
	if !canTerminate {
		t.Skip("no sessions here")
	}
	lines := newRecorder()
	first := true
	d := deploy(t, "worker", func(f *lambda.Function) {
		f.Output = func(l lambda.Line) {
			if first {
				first = false
				time.Sleep(700 * time.Millisecond) // longer than any grace
			}
			lines.add(l)
		}
	})
	r := invoke(t, d, command{Do: "escape", Size: 500})
	mustFail(t, r, "Runtime.ExitError", "exit status 4")
	got := lines.of(r.RequestID)
	if len(got) != 501 || got[500] != "stdout line 499" {
		t.Fatalf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	child, err := strconv.Atoi(strings.TrimPrefix(got[0], "stdout "))
	ok(t, err)
	if !alive(child) {
		t.Error("the child did not escape: the test shows nothing")
	}
	if p, err := os.FindProcess(child); err == nil {
		_ = p.Kill()
	}
}

// runtimeURL returns the URL of the bootstrap's Runtime API.
func runtimeURL() string {
	return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/"
}

// post sends to the Runtime API.
func post(path, body string) {
	if resp, err := http.Post(runtimeURL()+path, "application/json", strings.NewReader(body)); err == nil {
		_ = resp.Body.Close()
	}
}

// raw is a bootstrap that hangs. The payload of each invocation decides when.
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
			hang()
		case "hang":
			fmt.Println("hanging")
			hang()
		case "leave": // ask for an invocation and do not wait for it
			post("invocation/"+id+"/response", "fine")
			client := http.Client{Timeout: 200 * time.Millisecond}
			_, _ = client.Get(runtimeURL() + "invocation/next")
			fmt.Println("left")
			hang()
		}
	}
}

// A process with two places that hangs in the first invocation accepts no others: every
// later invocation times out, and Close ends it.
func TestSharedProcessThatHangs(t *testing.T) {
	d := deploy(t, "raw", func(f *lambda.Function) {
		f.Concurrency, f.ConcurrencyPerEnvironment, f.Timeout = 1, 2, 300*time.Millisecond
	})
	for range 5 {
		mustFail(t, send(t, d, "hang"), "Sandbox.Timedout", "Task timed out after 0.30 seconds")
	}
	_ = d.Close()
}

// Close also ends invocations that such a process has not accepted.
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

// A process that asks for an invocation and loses that connection is killed at the next
// invocation's timeout.
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

// An incomplete response at the timeout is a timeout, and not an error about the
// connection, which the timeout has ended.
func TestTimeoutInAResponse(t *testing.T) {
	d := deploy(t, "raw", func(f *lambda.Function) { f.Timeout = time.Second })
	r := send(t, d, "hang in a response")
	mustFail(t, r, "Sandbox.Timedout", "Task timed out after 1.00 seconds")
	if r.Duration < time.Second {
		t.Errorf("duration %v", r.Duration)
	}
}
