package container_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/container"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// The test binary is the container's program. The variable DO selects its behavior.
func TestMain(m *testing.M) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	switch os.Getenv("DO") {
	case "fail":
		fmt.Println("line", os.Getenv("SECRET"))
		fmt.Fprint(os.Stderr, "no newline")
		os.Exit(3)
	case "drain":
		fmt.Println("up")
		<-stop
		fmt.Println("drained")
		os.Exit(0)
	case "ignore":
		fmt.Println("up")
		<-stop
		fmt.Println("told")
		time.Sleep(time.Hour)
	}
	goleak.VerifyTestMain(m)
}

// watch records changes and lines, and calls up for each line "up" or "told".
type watch struct {
	mu      sync.Mutex
	lines   []string
	changes []container.Change
	on      map[string]func()
}

func (w *watch) output(process int, stream, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%d %s %s", process, stream, text))
	if f := w.on[text]; f != nil {
		f()
	}
}

func (w *watch) changed(c container.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
}

func options(t *testing.T, w *watch, do string) container.Options {
	exe, err := os.Executable()
	golden.OK(t, err)
	return container.Options{
		Command: exe, Env: map[string]string{"DO": do}, Processes: 1, StopTimeout: 30 * time.Second,
		Works: func() bool { return true }, Output: w.output, Changed: w.changed,
	}
}

// TestStartError: a program that never worked is not started again, also if other processes
// run, and the error has its last lines.
func TestStartError(t *testing.T) {
	t.Setenv("SECRET", "of this process")
	w := &watch{}
	o := options(t, w, "fail")
	o.Works = func() bool { return false }
	o.Processes = 2
	err := container.Run(t.Context(), context.Background(), o)
	var start *container.StartError
	if !errors.As(err, &start) || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("error %v", err)
	}
	slices.Sort(start.Output)
	if want := []string{"line ", "no newline"}; !slices.Equal(start.Output, want) {
		t.Errorf("output %q, want %q", start.Output, want)
	}

	o.Command = "/no/such/program"
	if err := container.Run(t.Context(), context.Background(), o); !errors.As(err, &start) {
		t.Errorf("error %v", err)
	}
}

// TestIdle: Idle is called for a program that runs but does no work.
func TestIdle(t *testing.T) {
	for name, works := range map[string]bool{"does not work": false, "works": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := &watch{}
			o := options(t, w, "drain")
			asked, reported := make(chan struct{}), false
			o.Works = sync.OnceValue(func() bool { close(asked); return works })
			o.Idle = func() { reported = true }
			w.on = map[string]func(){"up": func() {
				go func() { <-asked; cancel() }()
			}}
			golden.OK(t, container.Run(ctx, context.Background(), o))
			if reported == works {
				t.Errorf("reported %v", reported)
			}
		})
	}
}

// TestRestart: a program that has worked is started again, after growing pauses.
func TestRestart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watch{}
	o := options(t, w, "fail")
	o.Changed = func(c container.Change) {
		w.changed(c)
		if len(w.changes) == 5 {
			cancel()
		}
	}
	golden.OK(t, container.Run(ctx, context.Background(), o))
	var pauses []time.Duration
	for _, c := range w.changes {
		if c.Ended == "exit status 3" && !c.Asked {
			pauses = append(pauses, c.Again)
		}
	}
	if len(pauses) != 2 || pauses[1] != 2*pauses[0] || len(w.lines) < 4 {
		t.Errorf("changes %+v\nlines %q", w.changes, w.lines)
	}
}

func TestStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watch{on: map[string]func(){"up": cancel}}
	golden.OK(t, container.Run(ctx, context.Background(), options(t, w, "drain")))
	last := w.changes[len(w.changes)-1]
	if len(w.changes) != 2 || !last.Asked || last.Ended != "exit status 0" || last.PID != w.changes[0].PID {
		t.Errorf("%+v", w.changes)
	}
	if want := []string{"1 stdout up", "1 stdout drained"}; !slices.Equal(w.lines, want) {
		t.Errorf("lines %q, want %q", w.lines, want)
	}
}

// TestKill: a process that does not end is killed after the stop timeout, which is an
// error, or at kill's end, which is not.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the words for a killed process differ")
	}
	for _, atOnce := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		kill, now := context.WithCancel(context.Background())
		w := &watch{on: map[string]func(){"up": cancel}}
		o := options(t, w, "ignore")
		if atOnce {
			w.on["told"] = now
		} else {
			o.StopTimeout = 200 * time.Millisecond
		}
		err := container.Run(ctx, kill, o)
		if atOnce != (err == nil) || err != nil && !strings.Contains(err.Error(), "process 1 did not end within 200ms of SIGTERM") {
			t.Errorf("at once %v: error %v", atOnce, err)
		}
		if last := w.changes[len(w.changes)-1]; last.Ended != "signal: killed" || !last.Asked {
			t.Errorf("at once %v: %+v", atOnce, w.changes)
		}
		cancel()
		now()
	}
}
