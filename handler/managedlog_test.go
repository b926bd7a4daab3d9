package handler_test

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

var (
	lineMessage = regexp.MustCompile(` message=("[^"]*"|\S+)`)
	lineRequest = regexp.MustCompile(` requestId=(\S+)`)
	lineRecord  = regexp.MustCompile(` messageId=(\S+)`)
	lineRecords = regexp.MustCompile(` records=(\d+)`)
	lineReason  = regexp.MustCompile(`no (\d+)\.`)
)

// checkLines reads a log in text, and checks that each line is of the invocation
// that it names.
func checkLines(t *testing.T, path string, invocations map[string]lambda.Invocation) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	batches, lines, own, warnings := map[string]int{}, 0, 0, 0
	find := func(expr *regexp.Regexp, line string) string {
		if m := expr.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		return ""
	}
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		lines++
		id := find(lineRequest, line)
		invocation, known := invocations[id]
		if !known {
			t.Errorf("no invocation has the request id %q: %s", id, line)
			continue
		}
		switch m := find(lineMessage, line); {
		case m == "user":
			own++
		case strings.Contains(m, "panicked"):
			warnings++
		}
		if message := find(lineRecord, line); message != "" {
			at := slices.IndexFunc(invocation.Records, func(r lambda.Record) bool { return r.MessageID == message })
			if at < 0 {
				t.Errorf("message %s is not one of invocation %s: %s", message, id, line)
			} else if n := find(lineReason, line); n != "" && number(invocation.Records[at].Body) != number(n) {
				t.Errorf("the reason of another record than %q: %s", invocation.Records[at].Body, line)
			}
		}
		if find(lineMessage, line) == "batch" {
			batches[id]++
			if n := find(lineRecords, line); n != strconv.Itoa(len(invocation.Records)) {
				t.Errorf("invocation %s has %d records: %s", id, len(invocation.Records), line)
			}
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	for id := range invocations {
		if batches[id] != 1 {
			t.Errorf("invocation %s has %d lines of its batch", id, batches[id])
		}
	}
	t.Logf("%d invocations, %d lines, %d of them the function's own, %d warnings", len(invocations), lines, own, warnings)
	if own == 0 || warnings < len(invocations) || lines < 4*len(invocations) {
		t.Error("too few lines to show anything")
	}
}
