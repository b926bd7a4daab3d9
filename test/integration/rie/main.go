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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
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
	failed = errors.Join(failed, silence(log))
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
	names, err := fs.Glob(events.FS, "*.json")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no sample events (%w)", err)
	}
	var wrong []error
	for _, name := range names {
		want, err := events.FS.ReadFile(path.Join("answers", name))
		if err != nil {
			return err
		}
		got, took, err := e.invoke(ctx, name)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		case !sameJSON(got, want):
			wrong = append(wrong, fmt.Errorf("%s: answer is %s, want %s", name, got, want))
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
	names, err := fs.Glob(events.FS, "refused/*.json")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no payloads to refuse (%w)", err)
	}
	var wrong []error
	for _, name := range names {
		got, took, err := e.invoke(ctx, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		var failure struct{ ErrorType, ErrorMessage string }
		if json.Unmarshal(got, &failure) != nil || failure.ErrorMessage == "" || failure.ErrorType == "" {
			wrong = append(wrong, fmt.Errorf("%s: answer is %s, want an error with its type and message", name, got))
			continue
		}
		fmt.Printf("%-28s %5d ms  refused: %s\n", name, took.Milliseconds(), failure.ErrorMessage)
	}
	return errors.Join(wrong...)
}

// silence looks for the body of any record in the log, where none belongs.
func silence(log string) error {
	log = strings.ReplaceAll(log, `\"`, `"`) // as it is quoted in a JSON line
	names, err := fs.Glob(events.FS, "*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		payload, err := events.FS.ReadFile(name)
		if err != nil {
			return err
		}
		var event struct{ Records []struct{ Body string } }
		if err := json.Unmarshal(payload, &event); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i, r := range event.Records {
			if strings.Contains(log, r.Body) {
				return fmt.Errorf("%s: the body of record %d is in the log", name, i+1)
			}
		}
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
