package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func inProcess(t *testing.T, fn lambda.Function, handler func(ctx context.Context, payload []byte) ([]byte, error)) *lambda.Deployment {
	t.Helper()
	fn.Handler = handler
	d, err := lambda.Start(fn)
	ok(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

type valueError struct{ code int }

func (e valueError) Error() string { return fmt.Sprint("code ", e.code) }

func TestHandlerResults(t *testing.T) {
	cases := []struct {
		name      string
		handler   func(context.Context, []byte) ([]byte, error)
		payload   string // the answer's payload
		errorType string
		message   string
		cold      bool // the next invocation is a cold start
	}{
		{"answer", func(_ context.Context, p []byte) ([]byte, error) { return p, nil }, "in", "", "", false},
		{"nothing", func(context.Context, []byte) ([]byte, error) { return nil, nil }, "", "", "", false},
		{"error", func(context.Context, []byte) ([]byte, error) { return nil, &testError{"no stock"} }, "", "testError", "no stock", false},
		{"error value", func(context.Context, []byte) ([]byte, error) { return nil, valueError{7} }, "", "valueError", "code 7", false},
		{"error of aws-lambda-go", func(context.Context, []byte) ([]byte, error) {
			return nil, messages.InvokeResponse_Error{Type: "Custom", Message: "mine"}
		}, "", "Custom", "mine", false},
		{"panic", func(context.Context, []byte) ([]byte, error) { panic("boom") }, "", "string", "boom", true},
		{"nil pointer", func(context.Context, []byte) ([]byte, error) { var e *testError; return nil, errors.New(e.text) }, "", "errorString", "nil pointer", true},
		{"Goexit", func(context.Context, []byte) ([]byte, error) { runtime.Goexit(); return nil, nil }, "", "Runtime.ExitError", "runtime.Goexit", true},
		{"largest answer", func(context.Context, []byte) ([]byte, error) { return make([]byte, 6<<20+100), nil }, string(make([]byte, 6<<20+100)), "", "", false},
		{"too large", func(context.Context, []byte) ([]byte, error) { return make([]byte, 6<<20+101), nil }, "", "Function.ResponseSizeTooLarge", "(6291557 bytes)", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := inProcess(t, lambda.Function{}, c.handler)
			for i, cold := range []bool{true, c.cold} {
				r := send(t, d, "in")
				if r.ColdStart != cold || r.Environment != 1 {
					t.Errorf("invocation %d: cold %v in environment %d, want %v in 1", i, r.ColdStart, r.Environment, cold)
				}
				if c.errorType != "" {
					mustFail(t, r, c.errorType, c.message)
				} else if r.Error != nil || string(r.Payload) != c.payload {
					t.Errorf("error %v, %d bytes; want %d", r.Error, len(r.Payload), len(c.payload))
				}
			}
		})
	}
}

func TestPanicHasItsStack(t *testing.T) {
	d := inProcess(t, lambda.Function{}, func(context.Context, []byte) ([]byte, error) { panic("boom") })
	r := send(t, d, "")
	if !strings.Contains(string(r.Error.StackTrace), "TestPanicHasItsStack") {
		t.Errorf("stack %s", r.Error.StackTrace)
	}
	var doc messages.InvokeResponse_Error
	if err := json.Unmarshal(r.Payload, &doc); err != nil || len(doc.StackTrace) == 0 {
		t.Errorf("payload %s: %v", r.Payload, err)
	}
}

func TestHandlerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var id string
		d := inProcess(t, lambda.Function{Name: "worker", Region: "eu-central-1", AccountID: "111122223333", Timeout: 7 * time.Second}, func(ctx context.Context, _ []byte) ([]byte, error) {
			deadline, ok := ctx.Deadline()
			if left := time.Until(deadline); !ok || left != 7*time.Second {
				t.Errorf("%v left, want 7s", left)
			}
			lc, ok := lambdacontext.FromContext(ctx)
			if !ok || lc.InvokedFunctionArn != "arn:aws:lambda:eu-central-1:111122223333:function:worker" {
				t.Errorf("Lambda context %+v", lc)
			}
			id = lc.AwsRequestID
			if trace, _ := ctx.Value("x-amzn-trace-id").(string); !strings.HasPrefix(trace, "Root=1-") {
				t.Errorf("trace id %q", trace)
			}
			return nil, nil
		})
		if r := send(t, d, ""); r.RequestID != id {
			t.Errorf("request id %s, the handler saw %s", r.RequestID, id)
		}
	})
}

// The answer at the deadline is the timeout, whether the handler respects its context,
// answers at the same moment, or hangs.
func TestHandlerTimeout(t *testing.T) {
	for name, handler := range map[string]func(ctx context.Context, _ []byte) ([]byte, error){
		"hangs":    func(context.Context, []byte) ([]byte, error) { time.Sleep(time.Hour); return nil, nil },
		"respects": func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return []byte("late"), nil },
		"too late": func(context.Context, []byte) ([]byte, error) { time.Sleep(3 * time.Second); return []byte("late"), nil },
		"in time": func(context.Context, []byte) ([]byte, error) {
			time.Sleep(3*time.Second - 1)
			return []byte("in time"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var later atomic.Bool // an abandoned handler has no effect on the next
				d := inProcess(t, lambda.Function{Concurrency: 1}, func(ctx context.Context, p []byte) ([]byte, error) {
					if !later.Swap(true) {
						return handler(ctx, p)
					}
					return []byte("fine"), nil
				})
				begin := time.Now()
				r := send(t, d, "")
				if name == "in time" {
					mustAnswer(t, r, "in time")
					if r.Duration != 3*time.Second-1 {
						t.Errorf("duration %v", r.Duration)
					}
					return
				}
				mustFail(t, r, "Sandbox.Timedout", "RequestId: "+r.RequestID+" Error: Task timed out after 3.00 seconds")
				if took := time.Since(begin); took != 3*time.Second {
					t.Errorf("answered after %v", took)
				}
				r = send(t, d, "")
				if !r.ColdStart {
					t.Error("next: not a cold start")
				}
				mustAnswer(t, r, "fine")
				time.Sleep(2 * time.Hour) // until hanging handlers end
			})
		})
	}
}

func TestCloseEndsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inProcess(t, lambda.Function{Timeout: time.Minute}, func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		done := make(chan error, 1)
		go func() {
			_, err := d.Invoke(context.Background(), nil)
			done <- err
		}()
		synctest.Wait()
		begin := time.Now()
		_ = d.Close()
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if err := <-done; !errors.Is(err, lambda.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	})
}

func TestPayloadTooLarge(t *testing.T) {
	d := inProcess(t, lambda.Function{}, func(context.Context, []byte) ([]byte, error) { return nil, nil })
	if _, err := d.Invoke(context.Background(), make([]byte, 6<<20+1)); !errors.Is(err, lambda.ErrPayloadTooLarge) {
		t.Errorf("%v, want ErrPayloadTooLarge", err)
	}
	if _, err := d.Invoke(context.Background(), make([]byte, 6<<20)); err != nil {
		t.Errorf("6 MiB: %v", err)
	}
}

func TestFunctionValidation(t *testing.T) {
	handler := func(context.Context, []byte) ([]byte, error) { return nil, nil }
	for _, c := range []struct {
		fn   lambda.Function
		want string
	}{
		{lambda.Function{}, "needs a Command or a Handler"},
		{lambda.Function{Handler: handler, Command: []string{"x"}}, "both a Command and a Handler"},
		{lambda.Function{Command: []string{""}}, "Function.Command[0]"},
		{lambda.Function{Handler: handler, Name: "a b"}, `Function.Name "a b"`},
		{lambda.Function{Handler: handler, Name: strings.Repeat("x", 65)}, "Function.Name"},
		{lambda.Function{Handler: handler, Timeout: -1}, "Function.Timeout -1ns"},
		{lambda.Function{Handler: handler, Timeout: 901 * time.Second}, "Function.Timeout 15m1s: need more than 0 and at most 15m0s"},
		{lambda.Function{Handler: handler, Timeout: 5401 * time.Second, ConcurrencyPerEnvironment: 1}, "Function.Timeout 1h30m1s: need more than 0 and at most 1h30m0s"},
		{lambda.Function{Handler: handler, MemoryMB: 64}, "Function.MemoryMB 64: need 128 to 10240"},
		{lambda.Function{Handler: handler, Concurrency: 1001}, "Function.Concurrency 1001: need 1 to 1000"},
		{lambda.Function{Handler: handler, Concurrency: -1}, "Function.Concurrency -1"},
		{lambda.Function{Handler: handler, ConcurrencyPerEnvironment: -1}, "Function.ConcurrencyPerEnvironment -1"},
		{lambda.Function{Handler: handler, ConcurrencyPerEnvironment: 1601}, "Function.ConcurrencyPerEnvironment 1601"},
	} {
		if _, err := lambda.Start(c.fn); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	inProcess(t, lambda.Function{Timeout: 900 * time.Second}, handler)
	inProcess(t, lambda.Function{Timeout: 5400 * time.Second, ConcurrencyPerEnvironment: 1}, handler)
	d := inProcess(t, lambda.Function{}, handler)
	if fn := d.Function(); fn.Name != "function" || fn.Timeout != 3*time.Second || fn.MemoryMB != 128 || fn.Concurrency != 10 || fn.Region != "us-east-1" {
		t.Errorf("defaults %+v", fn)
	}
}
