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
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkRIE runs examples/orders, built as "sam build" has it built, under AWS's own Runtime
// Interface Emulator, with each sample event: each answer must be the one that is documented
// (events/answers), in time, and no body may be in the log. What else hangs in real processes is up to
// `bench deadline`.
//
// It needs Linux, Python 3 with its venv module, PyPI on the first use, and make.
func checkRIE(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	program := must.Get(must.Get(tools.InstallSAM(ctx)).RIE(ctx))
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+s.Tmp)
	cmd.Dir = s.Root
	must.Get(s.Log.Run(cmd))
	names := must.Get(sampleNames())
	e := must.Get(tools.StartRIE(ctx, program, filepath.Join(s.Tmp, "bootstrap"), append(os.Environ(),
		"AWS_LAMBDA_FUNCTION_TIMEOUT="+strconv.Itoa(int(sampleTimeout.Seconds())),
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_SAM_LOCAL=true", // sample receipt handles: no queue behind them
		"SQSBATCH_LOG_SUCCEEDED=true",
	)))
	var wrong []error
	for _, name := range names {
		wrong = append(wrong, must.Run(func() {
			answer, took := must.Get2(e.Invoke(ctx, must.Get(events.FS.ReadFile(name))))
			must.Do(checkSample(name, answer, took))
		}))
	}
	e.Stop()
	log := e.Log()
	fmt.Fprintf(s.Log, "\nsample events:\n%s", log)
	return errors.Join(append(wrong, checkSilence(log))...)
}

// sampleNames are the events, with those below "refused/", which must fail the invocation.
func sampleNames() (all []string, err error) {
	for _, pattern := range []string{"*.json", "refused/*.json"} {
		found, err := fs.Glob(events.FS, pattern)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("no sample event matches %s (%v)", pattern, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// refused reports whether an event must fail the invocation.
func refused(name string) bool { return strings.HasPrefix(name, "refused/") }

// sampleTimeout is the function's, as template.yaml has it. The answer to hang.json comes 0.7 s before
// it ends: a busy machine may take so long.
const sampleTimeout = 10 * time.Second

// checkSample prints what the answer to an event is. It must be right by events/answers, and in time.
func checkSample(name string, answer []byte, took time.Duration) (err error) {
	defer must.Return(&err)
	said := ""
	if refused(name) {
		var failure struct{ ErrorType, ErrorMessage string }
		if json.Unmarshal(answer, &failure) != nil || failure.ErrorMessage == "" || failure.ErrorType == "" {
			return fmt.Errorf("%s: answer is %s, want an error with its type and message", name, answer)
		}
		said = "refused: " + failure.ErrorMessage
	} else {
		want := must.Get(events.FS.ReadFile(path.Join("answers", name)))
		var got, documented any
		must.Do(json.Unmarshal(want, &documented))
		if json.Unmarshal(answer, &got) != nil || !reflect.DeepEqual(got, documented) {
			return fmt.Errorf("%s: answer is %s, want %s", name, answer, want)
		}
		said = fmt.Sprintf("as documented, lists %d", bytes.Count(answer, []byte("itemIdentifier")))
	}
	if took >= sampleTimeout {
		return fmt.Errorf("%s: took %v, the timeout is %v", name, took, sampleTimeout)
	}
	fmt.Printf("%-28s %5d ms  %s\n", name, took.Milliseconds(), said)
	return nil
}

// checkSilence says which record's body is in a log, where none belongs.
func checkSilence(log string) (err error) {
	defer must.Return(&err)
	log = strings.ReplaceAll(log, `\"`, `"`) // as it is quoted in a JSON line
	all := must.Get(sampleNames())
	for _, name := range all {
		if refused(name) {
			continue // it may have no records
		}
		payload := must.Get(events.FS.ReadFile(name))
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
