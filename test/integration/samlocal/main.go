// Package samlocal runs the function that "sam build" makes in a real container,
// under AWS's Runtime Interface Emulator, by "sam local invoke", with every
// sample event. The answers must be those that events/README.md documents, each
// in time. That "sqsbatch local" comes to the same ones is tested by it.
//
// It needs Python 3 with its venv module, PyPI on the first use, and a Docker
// engine of its own: Linux, root, dockerd, ip and a static busybox (Debian:
// docker.io, iproute2, busybox-static).
package samlocal

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// timeout is short, and within what events/README.md promises the answers for.
const timeout = 3 * time.Second

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	arch, err := samcli.Architecture()
	if err != nil {
		return fmt.Errorf("%w: %w", stage.ErrNotRun, err)
	}
	e, err := engine.Start(ctx, filepath.Join(s.Tmp, "engine"), engine.Options{Bridge: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Stop()) }()
	if err := importBase(ctx, e, arch); err != nil {
		return err
	}

	source := filepath.Join(s.Tmp, "source")
	if err := samcli.Copy(ctx, s, source, arch); err != nil {
		return err
	}
	begin := time.Now()
	build := sam.Command(ctx, "build")
	build.Dir = source
	if _, err := s.Log.Run(build); err != nil {
		return err
	}
	fmt.Printf("sam build for %s: %.1f s\n", arch, time.Since(begin).Seconds())

	return all(ctx, &invoker{stage: s, sam: sam, engine: e, source: source})
}

// importBase gives the engine an image for AWS's base image: the static bootstrap
// needs nothing of it, SAM only a shell.
func importBase(ctx context.Context, e *engine.Engine, arch string) error {
	return e.Import(ctx, "public.ecr.aws/lambda/provided:al2023-"+arch, []string{"ENV PATH=/bin", "WORKDIR /var/task"}, func(w *tar.Writer) error {
		return engine.Busybox(w, "sh", "mv", "chmod", "cp", "rm")
	})
}
