package lambda_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func TestCloseEndsWhatRuns(t *testing.T) {
	if !canTerminate {
		t.Skip("no process groups here")
	}
	var lines recorder
	d := deploy(t, "worker", func(f *lambda.Function) { f.Output = lines.add })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	done := make(chan error, 1)
	payload := command{Do: "child"}.payload(t)
	go func() {
		_, err := d.Invoke(context.Background(), payload)
		done <- err
	}()
	child := lines.wait(t, func(l lambda.Line) bool { return l.RequestID != "" })
	ok(t, d.Close())
	if err := <-done; !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("invocation under way: %v, want ErrClosed", err)
	}
	pid, err := strconv.Atoi(child.Text)
	ok(t, err)
	// A killed process takes a moment to be gone.
	tick, patience := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-patience:
			t.Fatalf("the function's child %d is alive", pid)
		}
	}
	if _, err := d.Invoke(context.Background(), payload); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCallerGoesAway(t *testing.T) {
	d := deploy(t, "worker", func(f *lambda.Function) { f.Concurrency = 1 })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Invoke(ctx, command{Do: "sleep", For: 25 * time.Second}.payload(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the caller's deadline", err)
	}
	if _, err := d.Invoke(context.Background(), command{Do: "echo"}.payload(t)); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("%v, want ErrThrottled: the function goes on", err)
	}
}

func TestCloseByMany(t *testing.T) {
	d := deploy(t, "worker", nil)
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSIGTERMBeforeKill(t *testing.T) {
	if !canTerminate {
		t.Skip("no SIGTERM here")
	}
	var lines recorder
	d := deploy(t, "sigterm", func(f *lambda.Function) { f.Output = lines.add })
	mustAnswer(t, invoke(t, d, command{Do: "echo", Text: "a"}), `"a"`)
	_ = d.Close()
	lines.wait(t, func(l lambda.Line) bool { return l.Text == "said goodbye" })
}
