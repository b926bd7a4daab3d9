package handler_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

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
