//go:build linux

// Command rie runs examples/orders, built as template.yaml has it built, under
// AWS's own Runtime Interface Emulator: with each sample event, whose answer
// must be the one that is documented (events/answers), and 200 times with
// records of which some hang. It ends with 1 when an answer differs, comes too
// late, or is given where the event must be refused.
//
//	go run ./test/integration/rie
//
// It needs Linux, Python 3 with its venv module, PyPI on the first use, and make.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// timeout is the function's: short, so that hang.json is over soon, and within
// what events/README.md promises the answers for.
const timeout = 3 * time.Second

func main() {
	stage.Main("rie", func(ctx context.Context, s *stage.Stage) []stage.Step {
		rie, bootstrap, err := prepare(ctx, s)
		if err != nil {
			return []stage.Step{{Name: "build", Run: func() error { return err }}}
		}
		return []stage.Step{
			{Name: "sample events", Run: func() error { return samples(ctx, s, rie, bootstrap) }},
			{Name: "hanging records", Run: func() error { return hangs(ctx, s, rie, bootstrap) }},
		}
	})
}

// prepare finds the emulator and makes the bootstrap for this machine with the
// Makefile's target that "sam build" uses.
func prepare(ctx context.Context, s *stage.Stage) (rie, bootstrap string, err error) {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return "", "", err
	}
	if rie, err = sam.RIE(ctx); err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+s.Tmp)
	cmd.Dir = s.Root
	_, err = s.Log.Run(cmd)
	return rie, filepath.Join(s.Tmp, "bootstrap"), err
}

// samples invokes the function with every sample event.
func samples(ctx context.Context, s *stage.Stage, rie, bootstrap string) error {
	e, err := start(ctx, rie, bootstrap, timeout)
	if err != nil {
		return err
	}
	failed := errors.Join(answers(ctx, e), refusals(ctx, e))
	e.stop()
	log := e.log.String()
	fmt.Fprintf(s.Log, "\nsample events:\n%s", log)
	return errors.Join(failed, sample.CheckSilence(log))
}

// answers invokes the function with each event and returns what was wrong.
func answers(ctx context.Context, e *emulator) error {
	names, err := sample.Answered()
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		got, took, err := e.sample(ctx, name)
		if err == nil {
			err = sample.Check(name, got)
		}
		if err == nil && took >= timeout {
			err = fmt.Errorf("%s: took %v, the timeout is %v", name, took, timeout)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		fmt.Printf("%-28s %5d ms  as documented, lists %d\n", name, took.Milliseconds(), bytes.Count(got, []byte("itemIdentifier")))
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
		got, took, err := e.sample(ctx, name)
		if err != nil {
			wrong = append(wrong, err)
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

// sample invokes the function with a sample event.
func (e *emulator) sample(ctx context.Context, name string) (answer []byte, took time.Duration, err error) {
	event, err := events.FS.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	if answer, took, err = e.invoke(ctx, event); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return answer, took, err
}
