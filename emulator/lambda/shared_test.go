package lambda_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// A process of aws-lambda-go runs three invocations at a time with ConcurrencyPerEnvironment 3.
func TestSharedProcess(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency, f.ConcurrencyPerEnvironment = 1, 3 })
	var all sync.WaitGroup
	var cold atomic.Int32
	pids := make([]string, 3)
	for i := range pids {
		all.Go(func() {
			r, err := d.Invoke(context.Background(), command{Do: "meet"}.payload(t))
			if err != nil || r.Error != nil {
				t.Errorf("%v, %v", err, r.Error)
			}
			if r.ColdStart {
				cold.Add(1)
			}
			pids[i] = string(r.Payload)
		})
	}
	all.Wait()
	if pids[0] != pids[1] || pids[0] != pids[2] || cold.Load() != 1 {
		t.Errorf("processes %v, %d cold starts; want one", pids, cold.Load())
	}
	if n := variables(t, d)["AWS_LAMBDA_MAX_CONCURRENCY"]; n != "3" {
		t.Errorf("AWS_LAMBDA_MAX_CONCURRENCY is %q", n)
	}
}

// A timeout ends one invocation: its process continues, and so does the invocation's code.
func TestSharedProcessTimeout(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) {
		f.Concurrency, f.ConcurrencyPerEnvironment, f.Timeout = 1, 2, 2*time.Second
	})
	pid := string(invoke(t, d, command{Do: "pid"}).Payload)
	mustFail(t, invoke(t, d, command{Do: "wait for release"}), "Sandbox.Timedout", "Task timed out after 2.00 seconds")
	mustAnswer(t, invoke(t, d, command{Do: "release"}), pid) // the late answer is accepted; otherwise the process would end
	mustAnswer(t, invoke(t, d, command{Do: "pid"}), pid)
}

// A crash ends every invocation of the process, and the next one starts another process.
func TestSharedProcessCrash(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency, f.ConcurrencyPerEnvironment = 1, 2 })
	pid := string(invoke(t, d, command{Do: "pid"}).Payload)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			r, err := d.Invoke(context.Background(), command{Do: "exit together"}.payload(t))
			if err != nil || r.Error == nil || r.Error.Type != "Runtime.ExitError" || !strings.Contains(r.Error.Message, "exit status 3") {
				t.Errorf("error %v, %v; want the process's end", r.Error, err)
			}
		})
	}
	both.Wait()
	if r := invoke(t, d, command{Do: "pid"}); r.Error != nil || string(r.Payload) == pid {
		t.Errorf("pid %s, error %v; want another than %s", r.Payload, r.Error, pid)
	}
}

// In-process: an invocation without a free place gets ErrThrottled. A handler that ignores
// its context keeps its place until it returns, and the environment stays warm.
func TestSharedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inProcess(t, lambda.Function{Concurrency: 2, ConcurrencyPerEnvironment: 2}, func(_ context.Context, payload []byte) ([]byte, error) {
			time.Sleep(map[string]time.Duration{"short": time.Second, "late": time.Minute}[string(payload)])
			return payload, nil
		})
		var mu sync.Mutex
		var used []int
		start := func(n int, payload string) {
			for range n {
				go func() {
					r, err := d.Invoke(context.Background(), []byte(payload))
					if err != nil || (r.Error != nil) != (payload == "late") {
						t.Errorf("%s: %v, %v", payload, err, r.Error)
					}
					mu.Lock()
					defer mu.Unlock()
					used = append(used, r.Environment)
				}()
			}
			synctest.Wait()
		}
		wantThrottled := func(want bool) {
			t.Helper()
			r, err := d.Invoke(context.Background(), []byte("none"))
			if errors.Is(err, lambda.ErrThrottled) != want || r.ColdStart {
				t.Errorf("error %v, want throttled %v; cold start %v", err, want, r.ColdStart)
			}
		}
		start(1, "late")
		start(3, "short")
		wantThrottled(true)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if slices.Sort(used); !slices.Equal(used, []int{1, 1, 2, 2}) {
			t.Errorf("environments %v, want two in each", used)
		}
		start(3, "short") // the late one still has its place
		wantThrottled(true)
		time.Sleep(time.Second)
		synctest.Wait()
		wantThrottled(false)
		time.Sleep(time.Minute)
		start(4, "short")
		wantThrottled(true)
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// Close does not wait for a handler that has timed out.
func TestSharedHandlerClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inProcess(t, lambda.Function{Concurrency: 1, ConcurrencyPerEnvironment: 2}, func(context.Context, []byte) ([]byte, error) {
			time.Sleep(time.Hour)
			return nil, nil
		})
		mustFail(t, send(t, d, ""), "Sandbox.Timedout", "3.00")
		begin := time.Now()
		_ = d.Close()
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
		time.Sleep(2 * time.Hour)
	})
}
