//go:build linux

// Command rie runs examples/orders, built as template.yaml has it built, under
// AWS's own Runtime Interface Emulator, and compares what it answers to each
// sample event with what is documented (events/answers). It ends with 1 when an
// answer differs, comes too late, or is given where the event must be refused.
//
//	go run ./test/integration/rie
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"runtime"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

// timeout is the function's: short, so that hang.json is over soon, and within
// what events/README.md promises the answers for.
const timeout = 3 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rie:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	rie, err := sam.RIE(ctx)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-rie-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := build(ctx, tmp); err != nil {
		return err
	}

	e, err := start(ctx, rie, path.Join(tmp, "bootstrap"))
	if err != nil {
		return err
	}
	failed := errors.Join(answers(ctx, e), refusals(ctx, e))
	e.stop()
	log := e.log.String()
	failed = errors.Join(failed, sample.CheckSilence(log))
	if failed != nil {
		return fmt.Errorf("%w\n\nthe function's log:\n%s", failed, log)
	}
	return nil
}

// build makes the bootstrap for this machine with the Makefile's target that
// "sam build" uses.
func build(ctx context.Context, dir string) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make build-OrdersFunction: %w\n%s", err, out)
	}
	return nil
}

// answers invokes the function with each event and returns what was wrong.
func answers(ctx context.Context, e *emulator) error {
	names, err := sample.Answered()
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		got, took, err := e.invoke(ctx, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		switch err := sample.Check(name, got); {
		case err != nil:
			wrong = append(wrong, err)
		case took >= timeout:
			wrong = append(wrong, fmt.Errorf("%s: took %v, the timeout is %v", name, took, timeout))
		default:
			listed := bytes.Count(got, []byte("itemIdentifier"))
			fmt.Printf("%-28s %5d ms  as documented, lists %d\n", name, took.Milliseconds(), listed)
		}
	}
	return errors.Join(wrong...)
}

// refusals invokes the function with each payload that it must not answer.
func refusals(ctx context.Context, e *emulator) error {
	names, err := sample.Refused()
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		got, took, err := e.invoke(ctx, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		message, err := sample.CheckRefused(name, got)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		fmt.Printf("%-28s %5d ms  refused: %s\n", name, took.Milliseconds(), message)
	}
	return errors.Join(wrong...)
}
