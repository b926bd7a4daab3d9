//go:build linux

// Package rie runs examples/orders, built as template.yaml has it built, under
// AWS's own Runtime Interface Emulator: with each sample event, whose answer
// must be the one that is documented (events/answers), and 200 times with
// records of which some hang.
//
// It needs Linux, Python 3 with its venv module, PyPI on the first use, and make.
package rie

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/emulator"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// timeout is short, and within what events/README.md promises the answers for.
const timeout = 3 * time.Second

func Steps(ctx context.Context, s *stage.Stage) []stage.Step {
	program, bootstrap, err := prepare(ctx, s)
	if err != nil {
		return []stage.Step{{Name: "build", Run: func() error { return err }}}
	}
	return []stage.Step{
		{Name: "sample events", Run: func() error { return samples(ctx, s, program, bootstrap) }},
		{Name: "hanging records", Run: func() error { return hangs(ctx, s, program, bootstrap) }},
	}
}

func start(ctx context.Context, program, bootstrap string, timeout time.Duration) (*emulator.Emulator, error) {
	return emulator.Start(ctx, program, bootstrap, append(os.Environ(),
		"AWS_LAMBDA_FUNCTION_TIMEOUT="+strconv.Itoa(int(timeout.Seconds())),
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_SAM_LOCAL=true", // sample receipt handles: no queue behind them
		"SQSBATCH_LOG_SUCCEEDED=true",
	))
}

// prepare finds the emulator, and makes the bootstrap as "sam build" does.
func prepare(ctx context.Context, s *stage.Stage) (program, bootstrap string, err error) {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return "", "", err
	}
	if program, err = sam.RIE(ctx); err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+s.Tmp)
	cmd.Dir = s.Root
	_, err = s.Log.Run(cmd)
	return program, filepath.Join(s.Tmp, "bootstrap"), err
}

// samples invokes the function with every sample event.
func samples(ctx context.Context, s *stage.Stage, program, bootstrap string) error {
	e, err := start(ctx, program, bootstrap, timeout)
	if err != nil {
		return err
	}
	failed := answers(ctx, e)
	e.Stop()
	log := e.Log()
	fmt.Fprintf(s.Log, "\nsample events:\n%s", log)
	return errors.Join(failed, sample.CheckSilence(log))
}

// answers invokes the function with each event, and returns what was wrong.
func answers(ctx context.Context, e *emulator.Emulator) error {
	names, err := sample.Names()
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		wrong = append(wrong, invoke(ctx, e, name))
	}
	return errors.Join(wrong...)
}

// invoke sends a sample event: the answer must be the documented one, in time.
func invoke(ctx context.Context, e *emulator.Emulator, name string) error {
	event, err := events.FS.ReadFile(name)
	if err != nil {
		return err
	}
	answer, took, err := e.Invoke(ctx, event)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	said, err := sample.Check(name, answer)
	if err != nil {
		return err
	}
	if took >= timeout {
		return fmt.Errorf("%s: took %v, the timeout is %v", name, took, timeout)
	}
	fmt.Printf("%-28s %5d ms  %s\n", name, took.Milliseconds(), said)
	return nil
}
