package samlocal

import (
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

	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// atOnce is how many containers run at a time: SAM gives each 3 s to stop.
const atOnce = 8

func all(ctx context.Context, i *invoker) error {
	names, err := sample.Names()
	if err != nil {
		return err
	}
	// The first one alone makes SAM's image: the one for which time counts.
	const first = "hang.json"
	errs := []error{i.check(ctx, first)}
	var mu sync.Mutex
	var wait sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, name := range names {
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
	stage  *stage.Stage
	sam    *samcli.CLI
	engine *engine.Engine
	source string // where it was built
}

// check checks the answer to an event, and that it comes in time.
func (i *invoker) check(ctx context.Context, name string) error {
	answer, took, err := i.invoke(ctx, name)
	if err != nil {
		return err
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

// report is the emulator's line at the end of an invocation.
var report = regexp.MustCompile(`(?m)^REPORT RequestId: .*\tDuration: ([0-9.]+) ms\t`)

// invoke returns the answer and the time by the emulator's report, or zero: SAM
// does not wait for the log's end. It ends an invocation at the timeout. No body
// may be in the log.
func (i *invoker) invoke(ctx context.Context, name string) (answer []byte, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := i.sam.Command(ctx, "local", "invoke", "OrdersFunction", "--event", filepath.Join("events", filepath.FromSlash(name)),
		"--skip-pull-image", "--parameter-overrides", "FunctionTimeout="+strconv.Itoa(int(timeout.Seconds())))
	cmd.Dir = i.source
	cmd.Env = append(cmd.Env, "DOCKER_HOST="+i.engine.Host, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	said, err := os.Create(filepath.Join(i.stage.Tmp, strings.ReplaceAll(name, "/", "-")+".log"))
	if err != nil {
		return nil, 0, err
	}
	defer said.Close()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, said
	runErr := cmd.Run()
	log, err := os.ReadFile(said.Name())
	if err != nil {
		return nil, 0, err
	}
	fmt.Fprintf(i.stage.Log, "\n$ sam local invoke --event events/%s\n%s\n%s", name, stdout.Bytes(), log)
	answer = stdout.Bytes()
	if runErr != nil || !json.Valid(answer) || bytes.Contains(log, []byte("timed out")) {
		return nil, 0, fmt.Errorf("sam local invoke --event events/%s: %v; answer %q\n%s", name, runErr, answer, log)
	}
	if found := report.FindSubmatch(log); found != nil {
		if took, err = time.ParseDuration(string(found[1]) + "ms"); err != nil {
			return nil, 0, err
		}
	}
	return answer, took, sample.CheckSilence(string(log))
}
