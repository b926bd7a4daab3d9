package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// hang never returns. With select {} Go would end a program without cgo: it calls that a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// TestMain runs the test binary as a bootstrap, built with aws-lambda-go, if TEST_BOOTSTRAP
// is set.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("TEST_BOOTSTRAP"); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "exit-at-start":
		fmt.Println("no configuration found")
		fmt.Fprintln(os.Stderr, "giving up")
		os.Exit(3)
	case "hang-at-start":
		hang()
	case "raw":
		raw()
	case "init-error":
		post("init/error", `{"errorType":"Function.NoConfig","errorMessage":"no table name"}`)
		os.Exit(1)
	case "sigterm":
		awslambda.StartWithOptions(bootstrap, awslambda.WithEnableSIGTERM(func() {
			fmt.Println("said goodbye")
			os.Exit(0)
		}))
	default:
		awslambda.Start(bootstrap)
	}
}

// command is the payload of bootstrap's invocations.
type command struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	Size int    `json:"size,omitempty"`
}

type testError struct{ text string }

func (e *testError) Error() string { return e.text }

func bootstrap(ctx context.Context, c command) (any, error) {
	switch c.Do {
	case "echo":
		return c.Text, nil
	case "error":
		return nil, &testError{c.Text}
	case "panic":
		panic(errors.New(c.Text))
	case "exit":
		fmt.Println("exiting")
		os.Exit(c.Size)
	case "hang":
		fmt.Println("hanging")
		hang()
	case "big":
		return strings.Repeat("x", c.Size), nil
	case "print":
		for line := range strings.SplitSeq(c.Text, ",") {
			fmt.Println(line)
		}
		fmt.Fprint(os.Stderr, "on stderr\r\n")
		return nil, nil
	case "child": // a child that would outlive its parent
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			return nil, err
		}
		fmt.Println(child.Process.Pid)
		hang()
	case "escape": // prints, starts a child in its own session, and ends
		child := exec.Command("sleep", "60")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		ownSession(child)
		if err := child.Start(); err != nil {
			return nil, err
		}
		fmt.Println(child.Process.Pid)
		for i := range c.Size {
			fmt.Printf("line %d\n", i)
		}
		os.Exit(4)
	case "env":
		return os.Environ(), nil
	case "pid":
		return os.Getpid(), nil
	case "meet":
		return os.Getpid(), meet(ctx)
	case "exit together":
		if met.Add(1) == 2 {
			os.Exit(3)
		}
		hang()
	case "wait for release":
		<-released
		return nil, nil
	case "release":
		close(released)
		return os.Getpid(), nil
	}
	return nil, fmt.Errorf("unknown command %q", c.Do)
}

// meeting lets three handlers of one process wait for each other.
const meeting = 3

var (
	met      atomic.Int32
	together = make(chan struct{})
	released = make(chan struct{})
)

// meet returns nil when three handlers run at the same time, else the context's error.
func meet(ctx context.Context) error {
	if met.Add(1) == meeting {
		close(together)
	}
	select {
	case <-together:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c command) payload(t testing.TB) []byte {
	t.Helper()
	doc, err := json.Marshal(c)
	ok(t, err)
	return doc
}

var ok = lambda.OK
