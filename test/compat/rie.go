package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkRIE runs examples/orders, built as template.yaml has it built, under
// AWS's own Runtime Interface Emulator: with each sample event, whose answer
// must be the one that is documented (events/answers), and 200 times with
// records of which some hang.
//
// It needs Linux, Python 3 with its venv module, PyPI on the first use, and make.
func checkRIE(ctx context.Context, s *tools.Stage) error {
	program, bootstrap, err := prepare(ctx, s)
	if err != nil {
		return err
	}
	s.Step("sample events", func() error { return invokeSamples(ctx, s, program, bootstrap) })
	s.Step("hanging records", func() error { return hangs(ctx, s, program, bootstrap) })
	return nil
}

func startRIE(ctx context.Context, program, bootstrap string) (*tools.RIE, error) {
	return tools.StartRIE(ctx, program, bootstrap, append(os.Environ(),
		"AWS_LAMBDA_FUNCTION_TIMEOUT="+strconv.Itoa(int(sampleTimeout.Seconds())),
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_SAM_LOCAL=true", // sample receipt handles: no queue behind them
		"SQSBATCH_LOG_SUCCEEDED=true",
	))
}

// prepare finds the emulator, and makes the bootstrap as "sam build" does.
func prepare(ctx context.Context, s *tools.Stage) (program, bootstrap string, err error) {
	defer must.Return(&err)
	program = must.Get(must.Get(tools.InstallSAM(ctx)).RIE(ctx))
	cmd := exec.CommandContext(ctx, "make", "build-OrdersFunction", "ARCH="+runtime.GOARCH, "ARTIFACTS_DIR="+s.Tmp)
	cmd.Dir = s.Root
	must.Get(s.Log.Run(cmd))
	return program, filepath.Join(s.Tmp, "bootstrap"), nil
}

// invokeSamples invokes the function with every sample event: each answer must be the documented
// one, in time.
func invokeSamples(ctx context.Context, s *tools.Stage, program, bootstrap string) (err error) {
	defer must.Return(&err)
	names := must.Get(sampleNames())
	e := must.Get(startRIE(ctx, program, bootstrap))
	var wrong []error
	for _, name := range names {
		wrong = append(wrong, invokeSample(ctx, e, name))
	}
	e.Stop()
	log := e.Log()
	fmt.Fprintf(s.Log, "\nsample events:\n%s", log)
	return errors.Join(append(wrong, checkSilence(log))...)
}

func invokeSample(ctx context.Context, e *tools.RIE, name string) (err error) {
	defer must.Return(&err)
	event := must.Get(events.FS.ReadFile(name))
	answer, took, err := e.Invoke(ctx, event)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return checkSample(name, answer, took)
}

// Invocations mostly wait, so several functions run side by side. Each is warm:
// what one invocation has abandoned is still there in those after it.
const (
	functions   = 25
	invocations = 8 // of each function
)

// What an order's sku says (examples/orders), and whether it then fails. What
// succeeds takes far less time than there is; what hangs, an hour.
var (
	ships = []string{"ok", "ok", "ok", "slow:%dms", "hang:%dms"}
	fails = []string{"hang:1h", "hang:1h", "slow:1h", "unknown", "panic", "down"}
)

// hangs invokes the function with random batches. Every answer must come, which
// it does not after the timeout, and list the records that fail and no other.
func hangs(ctx context.Context, s *tools.Stage, program, bootstrap string) error {
	var mu sync.Mutex
	var wrong []error
	var hung int
	var slowest time.Duration
	var wait sync.WaitGroup
	for f := range uint64(functions) {
		wait.Go(func() {
			h, took, err := hang(ctx, s, program, bootstrap, rand.New(rand.NewPCG(1, f)))
			mu.Lock()
			defer mu.Unlock()
			hung, slowest = hung+h, max(slowest, took)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("function %d: %w", f, err))
			}
		})
	}
	wait.Wait()
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Printf("%d invocations of %d functions, %d with records that hang: each answered as it must, the slowest after %d ms of %d\n",
		functions*invocations, functions, hung, slowest.Milliseconds(), sampleTimeout.Milliseconds())
	if hung < functions*invocations/4 {
		return fmt.Errorf("only %d invocations hung", hung)
	}
	return nil
}

// hang invokes one function again and again, and returns how many invocations
// had a record that hung, and the longest that one took.
func hang(ctx context.Context, s *tools.Stage, program, bootstrap string, random *rand.Rand) (hung int, slowest time.Duration, err error) {
	defer must.Return(&err)
	e := must.Get(startRIE(ctx, program, bootstrap))
	defer func() {
		e.Stop()
		fmt.Fprintf(s.Log, "\nhanging records:\n%s", e.Log())
	}()
	for i := range invocations {
		payload, want, hangs := randomEvent(i, random)
		answer, took := must.Get2(e.Invoke(ctx, payload))
		var got struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		var listed []string
		err := json.Unmarshal(answer, &got)
		for _, f := range got.BatchItemFailures {
			listed = append(listed, f.ItemIdentifier)
		}
		if err != nil || got.BatchItemFailures == nil || !slices.Equal(listed, want) {
			return 0, 0, fmt.Errorf("invocation %d: answer is %s (%v), want %v, for %s", i, answer, err, want, payload)
		}
		if hangs {
			hung++
		}
		slowest = max(slowest, took)
	}
	return hung, slowest, nil
}

// randomEvent is a batch of up to ten records, and the ids of those that fail.
func randomEvent(i int, random *rand.Rand) (event []byte, failing []string, hangs bool) {
	records := make([]map[string]any, 1+random.IntN(10))
	for r := range records {
		id, sku := fmt.Sprintf("%d-%d", i, r), ships[random.IntN(len(ships))]
		if random.IntN(6) == 0 {
			sku = fails[random.IntN(len(fails))]
			failing = append(failing, id)
			hangs = hangs || sku == "hang:1h" || sku == "slow:1h"
		} else if sku != "ok" {
			sku = fmt.Sprintf(sku, random.IntN(300))
		}
		records[r] = map[string]any{
			"messageId": id, "receiptHandle": id, "body": fmt.Sprintf(`{"id":%q,"sku":%q,"quantity":1}`, id, sku),
			"attributes":  map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1763000000000"},
			"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:orders", "awsRegion": "us-east-1",
		}
	}
	event, _ = json.Marshal(map[string]any{"Records": records}) // strings
	return event, failing, hangs
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
