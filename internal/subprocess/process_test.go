package subprocess_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// The test's own program is the one that is started: DO says what it does.
func TestMain(m *testing.M) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	switch os.Getenv("DO") {
	case "print":
		fmt.Println(strings.Repeat("x", 300<<10))
		fmt.Print("a\r\n\nno newline")
		os.Exit(3)
	case "wait", "ignore":
		fmt.Println("up")
		<-stop
		if os.Getenv("DO") == "wait" {
			os.Exit(0)
		}
		time.Sleep(time.Hour)
	}
	goleak.VerifyTestMain(m)
}

// start starts this program, and returns a channel of its first line.
func start(t *testing.T, do string, output func(stream, text string)) (*subprocess.Process, <-chan string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = subprocess.Environ(map[string]string{"DO": do})
	first := make(chan string, 1)
	var once sync.Once
	p, err := subprocess.Start(cmd, func(stream, text string) {
		once.Do(func() { first <- text })
		output(stream, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, first
}

func nothing(string, string) {}

func TestOutput_ComesInLinesAndPiecesOfLongOnes(t *testing.T) {
	var lines []string
	p, _ := start(t, "print", func(stream, text string) { lines = append(lines, stream+" "+text) })
	<-p.Ended()
	if len(lines) < 2 || len(lines[0]) != len("stdout ")+256<<10 || len(lines[1]) != len("stdout ")+44<<10 {
		t.Fatalf("%d lines", len(lines))
	}
	if want := []string{"stdout a", "stdout ", "stdout no newline"}; !slices.Equal(lines[2:], want) {
		t.Errorf("lines %q, want %q", lines[2:], want)
	}
	if err := p.Err(); err == nil || err.Error() != "exit status 3" || len(p.LastLines()) != 5 {
		t.Errorf("ended with %v, last lines %d", err, len(p.LastLines()))
	}
}

func TestStop_AsksThenKills(t *testing.T) {
	p, first := start(t, "wait", nothing)
	<-first
	if !p.Stop(t.Context()) || p.Err() != nil {
		t.Errorf("was killed: %v", p.Err())
	}
	p, first = start(t, "ignore", nothing)
	<-first
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if p.Stop(ctx) || p.Err() == nil {
		t.Error("a process that ignores the request was not killed")
	}
	p.Kill() // of one that has ended does nothing
}

func TestStart_ReturnsErrorOfMissingProgram(t *testing.T) {
	if _, err := subprocess.Start(exec.Command("/no/such/program"), nothing); err == nil {
		t.Error("no error")
	}
}

func TestEnviron_PassesOnOnlyWhatAProgramNeeds(t *testing.T) {
	t.Setenv("SECRET", "of this process")
	t.Setenv("HOME", "here")
	got := subprocess.Environ(map[string]string{"PATH": "own"})
	if !slices.Contains(got, "PATH=own") || !slices.Contains(got, "HOME=here") || slices.Contains(got, "SECRET=of this process") {
		t.Errorf("%q", got)
	}
}
