package local

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// The test binary is the program of processes if the variable DO says what it does.
func init() {
	switch os.Getenv("DO") {
	case "fail":
		os.Exit(3)
	case "drain":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
		fmt.Println("up")
		<-stop
		os.Exit(0)
	}
}

// doing returns one process of the test binary.
func doing(t *testing.T, do string) *processes {
	exe, err := os.Executable()
	golden.OK(t, err)
	return &processes{
		command: exe, env: map[string]string{"DO": do}, number: 1, stopTimeout: 30 * time.Second,
		works: func() bool { return true }, output: func(int, string, string) {}, changed: func(track.Change) {},
	}
}

// idle is called for a program that runs but does no work.
func TestProcesses_Idle(t *testing.T) {
	for name, works := range map[string]bool{"does not work": false, "works": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := doing(t, "drain")
			asked, reported := make(chan struct{}), false
			p.works = sync.OnceValue(func() bool { close(asked); return works })
			p.idle = func() { reported = true }
			p.output = func(int, string, string) { // it is up
				go func() { <-asked; cancel() }()
			}
			golden.OK(t, p.run(ctx, context.Background()))
			if reported == works {
				t.Errorf("reported %v", reported)
			}
		})
	}
}

// A program that has worked is started again, after growing pauses.
func TestProcesses_Restart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := doing(t, "fail")
	var changes []track.Change
	p.changed = func(c track.Change) {
		if changes = append(changes, c); len(changes) == 5 {
			cancel()
		}
	}
	golden.OK(t, p.run(ctx, context.Background()))
	var pauses []time.Duration
	for _, c := range changes {
		if c.Ended == "exit status 3" && !c.Asked {
			pauses = append(pauses, c.Again)
		}
	}
	if len(pauses) != 2 || pauses[1] != 2*pauses[0] {
		t.Errorf("changes %+v", changes)
	}
}

// A program that is not there is not started again.
func TestProcesses_CannotStart(t *testing.T) {
	p := doing(t, "")
	p.command = "/no/such/program"
	if err := p.run(t.Context(), context.Background()); err == nil {
		t.Error("no error")
	}
}
