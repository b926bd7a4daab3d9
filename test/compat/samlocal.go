package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkSAMLocal runs the function that "sam build" makes in a real container,
// under AWS's Runtime Interface Emulator, by "sam local invoke", with every
// sample event. The answers must be those that events/README.md documents, each
// in time. That "sqsbatch local" comes to the same ones is tested by it.
//
// It needs Python 3 with its venv module, PyPI on the first use, and a Docker
// engine of its own: Linux, root, dockerd, ip and a static busybox (Debian:
// docker.io, iproute2, busybox-static).
func checkSAMLocal(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	sam := must.Get(tools.InstallSAM(ctx))
	arch, err := tools.Architecture()
	if err != nil {
		return fmt.Errorf("%w: %w", tools.ErrNotRun, err)
	}
	e := must.Get(tools.StartEngine(ctx, filepath.Join(s.Tmp, "engine"), tools.EngineOptions{Bridge: true}))
	defer func() { err = errors.Join(err, e.Stop()) }()
	must.Do(importLambda(ctx, e, arch))

	source := filepath.Join(s.Tmp, "source")
	must.Do(tools.CopyRepository(ctx, s, source, arch))
	begin := time.Now()
	build := sam.Command(ctx, "build")
	build.Dir = source
	must.Get(s.Log.Run(build))
	fmt.Printf("sam build for %s: %.1f s\n", arch, time.Since(begin).Seconds())

	return all(ctx, &invoker{stage: s, sam: sam, engine: e, source: source})
}

// importLambda gives the engine an image for AWS's base image: the static bootstrap
// needs nothing of it, SAM only a shell.
func importLambda(ctx context.Context, e *tools.Engine, arch string) error {
	return e.Import(ctx, "public.ecr.aws/lambda/provided:al2023-"+arch, []string{"ENV PATH=/bin", "WORKDIR /var/task"}, func(w *tar.Writer) error {
		return tools.Busybox(w, "sh", "mv", "chmod", "cp", "rm")
	})
}

// atOnce is how many containers run at a time: SAM gives each 3 s to stop.
const atOnce = 8

func all(ctx context.Context, i *invoker) (err error) {
	defer must.Return(&err)
	// The first one alone makes SAM's image: the one for which time counts.
	const first = "hang.json"
	errs := []error{i.check(ctx, first)}
	var mu sync.Mutex
	var wait sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, name := range must.Get(sampleNames()) {
		if name == first {
			continue
		}
		wait.Go(func() {
			free <- struct{}{}
			err := i.check(ctx, name)
			<-free
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

type invoker struct {
	stage  *tools.Stage
	sam    *tools.SAM
	engine *tools.Engine
	source string // where it was built
}

// report is the emulator's line at the end of an invocation.
var report = regexp.MustCompile(`(?m)^REPORT RequestId: .*\tDuration: ([0-9.]+) ms\t`)

// check checks the answer to an event, and that it comes in time by the emulator's report, if
// that is there: SAM does not wait for the log's end. It ends an invocation at the timeout. No
// body may be in the log.
func (i *invoker) check(ctx context.Context, name string) (err error) {
	defer must.Return(&err)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := i.sam.Command(ctx, "local", "invoke", "OrdersFunction", "--event", filepath.Join("events", filepath.FromSlash(name)),
		"--skip-pull-image", "--parameter-overrides", "FunctionTimeout="+strconv.Itoa(int(sampleTimeout.Seconds())))
	cmd.Dir = i.source
	cmd.Env = append(cmd.Env, "DOCKER_HOST="+i.engine.Host, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	said := must.Get(os.Create(filepath.Join(i.stage.Tmp, strings.ReplaceAll(name, "/", "-")+".log")))
	defer said.Close()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, said
	runErr := cmd.Run()
	log := must.Get(os.ReadFile(said.Name()))
	fmt.Fprintf(i.stage.Log, "\n$ sam local invoke --event events/%s\n%s\n%s", name, stdout.Bytes(), log)
	answer, took := stdout.Bytes(), time.Duration(0)
	if runErr != nil || !json.Valid(answer) || bytes.Contains(log, []byte("timed out")) {
		return fmt.Errorf("sam local invoke --event events/%s: %v; answer %q\n%s", name, runErr, answer, log)
	}
	if found := report.FindSubmatch(log); found != nil {
		took = must.Get(time.ParseDuration(string(found[1]) + "ms"))
	}
	return errors.Join(checkSample(name, answer, took), checkSilence(string(log)))
}
