package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// On Lambda Managed Instances one process has many invocations at a time.
const atATime = 64

// everything is what the handler does with records; the number before it is that of the record.
var everything = []string{"ok", "fail", "slow", "after", "ok", "panic", "never", "ok", "hang", "ok"}

func doNumbered(_ context.Context, r batch.Record) error {
	n, what := numbered(r.Body)
	switch err := fmt.Errorf("no %d.", n); what {
	case "fail":
		return err
	case "after":
		return batch.RetryAfter(putOff(n), err)
	case "panic":
		panic(err)
	case "never":
		return batch.Permanent(err)
	case "hang":
		time.Sleep(10 * time.Minute) // ignores its context
	case "slow":
		time.Sleep(4 * time.Second)
	}
	time.Sleep(time.Duration(1+n%3) * time.Second)
	return nil
}

func numbered(body string) (n int, what string) {
	number, what, _ := strings.Cut(body, "-")
	n, _ = strconv.Atoi(number)
	return n, what
}

// putOff is the delay that a record asks for.
func putOff(n int) time.Duration { return time.Duration(30+n%50) * time.Second }

// 64 invocations at a time, whose handlers succeed, fail, ask for a delay, panic, give up and
// hang: each answers for its own records, each delay is its own record's, and each line of the
// log has the request id of its invocation.
func TestManagedInstance_SettlesAndLogsPerInvocation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	os.Stdout = file // which the logger keeps
	records := map[string][]batch.Record{}
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		for i := range 5 * atATime {
			q.Send(fmt.Sprintf("%d-%s", i, everything[i%len(everything)]))
		}
		h := newHandler(t, batch.HandlerFunc(doNumbered), handler.Config{SQS: q.Client, RecordTimeout: 10 * time.Second, LogSucceeded: true,
			Hooks: batch.JoinHooks(finishedPanics, calledPanics, settledPanics, flushPanics)}) // each makes warnings
		var all sync.WaitGroup
		for i := range atATime {
			id, own := fmt.Sprint("request-", i), q.Receive(5)
			records[id] = own
			all.Go(func() {
				ctx, cancel := context.WithTimeout(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id}), 30*time.Second)
				defer cancel()
				var failed []string
				for _, r := range own {
					if _, what := numbered(r.Body); slices.Contains([]string{"fail", "after", "panic", "hang"}, what) {
						failed = append(failed, fmt.Sprintf(`{"itemIdentifier":%q}`, r.MessageID))
					}
				}
				answer, err := h.Invoke(ctx, testqueue.Event(own))
				if want := `{"batchItemFailures":[` + strings.Join(failed, ",") + `]}`; err != nil || string(answer) != want {
					t.Errorf("%s answered %s, %v, want %s", id, answer, err, want)
				}
			})
		}
		all.Wait()
		delayed := 0
		for _, e := range q.Events(sqs.Visibility) {
			if n, what := numbered(e.Body); what == "after" {
				if delayed++; (e.Visibility - putOff(n)).Abs() > time.Second {
					t.Errorf("%s comes back in %v, want %v", e.Body, e.Visibility, putOff(n))
				}
			}
		}
		if _, dead := q.Left(); dead != atATime/2 || delayed != atATime/2 {
			t.Errorf("%d dead letters and %d delays, want %d of each", dead, delayed, atATime/2)
		}
		time.Sleep(time.Hour) // for the handlers that hang
	})
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	checkLines(t, path, records)
}

// checkLines reads a log in text, and checks that each line is of the invocation
// that it names.
func checkLines(t *testing.T, path string, invocations map[string][]batch.Record) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	find := func(expr, line string) string {
		return append(regexp.MustCompile(expr).FindStringSubmatch(line), "", "")[1]
	}
	batches, lines, warnings := map[string]int{}, 0, 0
	for line := range strings.Lines(string(text)) {
		lines++
		id := find(` requestId=(\S+)`, line)
		records, known := invocations[id]
		if !known {
			t.Errorf("no invocation has the request id %q: %s", id, line)
			continue
		}
		if strings.Contains(line, "panicked") {
			warnings++
		}
		if message := find(` messageId=(\S+)`, line); message != "" {
			at := slices.IndexFunc(records, func(r batch.Record) bool { return r.MessageID == message })
			if at < 0 {
				t.Errorf("message %s is not one of invocation %s: %s", message, id, line)
			} else if n, _ := numbered(records[at].Body); find(`no (\d+)\.`, line) != "" && find(`no (\d+)\.`, line) != strconv.Itoa(n) {
				t.Errorf("the reason of another record than %q: %s", records[at].Body, line)
			}
		}
		if find(` message=(\S+)`, line) == "batch" {
			batches[id]++
			if n := find(` records=(\d+)`, line); n != strconv.Itoa(len(records)) {
				t.Errorf("invocation %s has %d records: %s", id, len(records), line)
			}
		}
	}
	for id := range invocations {
		if batches[id] != 1 {
			t.Errorf("invocation %s has %d lines of its batch", id, batches[id])
		}
	}
	if warnings < len(invocations) || lines < 4*len(invocations) {
		t.Errorf("%d lines with %d warnings of %d invocations: too few to show anything", lines, warnings, len(invocations))
	}
}

// The same in a process of its own, with aws-lambda-go's 64 loops in it: what was
// built with the race detector ends at a race. All invocations are there at once,
// or none would end.
func TestManagedInstanceProcess_AnswersConcurrentInvocations(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var log []string
	fn, err := lambda.Start(lambda.Function{
		Command: []string{program}, Timeout: 30 * time.Second, Concurrency: 1, ConcurrencyPerEnvironment: atATime,
		Env: map[string]string{"SQSBATCH_TEST_RUN": "1", "AWS_SAM_LOCAL": "true", "AWS_LAMBDA_LOG_FORMAT": "JSON", "SQSBATCH_LOG_SUCCEEDED": "true"},
		Output: func(l lambda.Line) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, l.Text)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	records := map[string]string{} // the messages of an invocation, by its request id
	var invocations sync.WaitGroup
	for i := range atATime {
		invocations.Go(func() {
			bodies := slices.Repeat([]string{"ok"}, i%9)
			bodies = append(bodies, "meet", "fail", "panic")
			r, err := fn.Invoke(t.Context(), payload(ordersARN, bodies...))
			want := fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":"m-%d"},{"itemIdentifier":"m-%d"}]}`, len(bodies)-2, len(bodies)-1)
			if err != nil || r.Error != nil || string(r.Payload) != want {
				t.Errorf("%s, %v, %v, want %s", r.Payload, r.Error, err, want)
			}
			mu.Lock()
			defer mu.Unlock()
			records[r.RequestID] = strconv.Itoa(len(bodies))
		})
	}
	invocations.Wait()
	_ = fn.Close() // after which there is no more output
	mu.Lock()
	defer mu.Unlock()
	batches := map[string]bool{}
	for _, text := range log {
		var line struct {
			RequestID, Message string
			Records            json.Number
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line.RequestID == "" && strings.Contains(line.Message, "SQSBATCH_TEST_RUN") {
			continue // told at the start, before any invocation
		}
		if records[line.RequestID] == "" || line.Records != "" && string(line.Records) != records[line.RequestID] {
			t.Errorf("invocation %q of %s records: %s", line.RequestID, records[line.RequestID], text)
		}
		if line.Message == "batch" {
			batches[line.RequestID] = true
		}
	}
	if len(records) != atATime || len(batches) != atATime {
		t.Errorf("%d invocations with %d lines of batches among %d, want %d", len(records), len(batches), len(log), atATime)
	}
}
