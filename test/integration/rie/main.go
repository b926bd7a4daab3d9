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

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/emulator"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	program, bootstrap, err := prepare(ctx, s)
	if err != nil {
		return err
	}
	s.Step("sample events", func() error { return samples(ctx, s, program, bootstrap) })
	s.Step("hanging records", func() error { return hangs(ctx, s, program, bootstrap) })
	return nil
}

func start(ctx context.Context, program, bootstrap string) (*emulator.Emulator, error) {
	return emulator.Start(ctx, program, bootstrap, append(os.Environ(),
		"AWS_LAMBDA_FUNCTION_TIMEOUT="+strconv.Itoa(int(sample.Timeout.Seconds())),
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_SAM_LOCAL=true", // sample receipt handles: no queue behind them
		"SQSBATCH_LOG_SUCCEEDED=true",
	))
}

// prepare finds the emulator, and makes the bootstrap as "sam build" does.
func prepare(ctx context.Context, s *stage.Stage) (program, bootstrap string, err error) {
	defer must.Return(&err)
	program = must.Get(must.Get(samcli.Install(ctx)).RIE(ctx))
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+s.Tmp)
	cmd.Dir = s.Root
	must.Get(s.Log.Run(cmd))
	return program, filepath.Join(s.Tmp, "bootstrap"), nil
}

// samples invokes the function with every sample event: each answer must be the documented
// one, in time.
func samples(ctx context.Context, s *stage.Stage, program, bootstrap string) (err error) {
	defer must.Return(&err)
	names := must.Get(sample.Names())
	e := must.Get(start(ctx, program, bootstrap))
	var wrong []error
	for _, name := range names {
		wrong = append(wrong, invoke(ctx, e, name))
	}
	e.Stop()
	log := e.Log()
	fmt.Fprintf(s.Log, "\nsample events:\n%s", log)
	return errors.Join(append(wrong, sample.CheckSilence(log))...)
}

func invoke(ctx context.Context, e *emulator.Emulator, name string) (err error) {
	defer must.Return(&err)
	event := must.Get(events.FS.ReadFile(name))
	answer, took, err := e.Invoke(ctx, event)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return sample.Check(name, answer, took)
}
