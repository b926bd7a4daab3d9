package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	failed = flag.String("failed", "../../.ci/failed", "the folder for histories that go wrong")
	again  = flag.String("again", "", "a file that was kept there, whose plan is carried out")
)

// keep writes down a history that went wrong, and what carries it out again. It returns the file's name.
func keep(t *testing.T, seed uint64, h *History, v Violation) string {
	plan, err := json.Marshal(h.Plan)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := exec.CommandContext(t.Context(), "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	mode := "Lambda"
	if h.Plan.Polls() {
		mode = "long poll"
	}
	text := fmt.Sprintf("%s\n\n%s, at %s\n\nseed %d, %s, %s, commit %s\nturns that were drawn: %v\nThe smallest plan that was found, which -again reads:\n%s\n\n%v\n%s",
		v.Invariant, v.Text, since(h.Began, v.At), seed, mode, runtime.Version(), strings.TrimSpace(string(commit)), h.Turns, plan, h.Plan, h.Timeline(h.Began.Add(time.Hour*1000), 1<<30))
	name, err := filepath.Abs(filepath.Join(*failed, fmt.Sprintf("history-%d.txt", seed)))
	if err == nil {
		err = os.MkdirAll(*failed, 0o777)
	}
	if err == nil {
		err = errors.Join(os.WriteFile(name, []byte(text), 0o666), writeRecord(strings.TrimSuffix(name, "txt")+"jsonl", h, v))
	}
	if err != nil {
		t.Error(err)
	}
	return name
}

// writeRecord writes what sqsbatch play shows.
func writeRecord(name string, h *History, violations ...Violation) error {
	var text bytes.Buffer
	return errors.Join(h.Record(&text, violations...), os.WriteFile(name, text.Bytes(), 0o666))
}

// TestAgain carries out the plan of a history that was kept:
//
//	go test ./test/simulate -run TestAgain -count=1 -args -again="$PWD/.ci/failed/history-7.txt"
func TestAgain(t *testing.T) {
	if *again == "" {
		t.Skip("without -again there is nothing to carry out again")
	}
	h, err := RunInBubble(t, kept(t, *again), Mutant{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Check(h) {
		t.Errorf("%s: %s (at %s)\n%s", v.Invariant, v.Text, since(h.Began, v.At), h.Timeline(v.At, *lines))
	}
}

// kept returns the plan that a file has.
func kept(t *testing.T, file string) (p Plan) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("%s has no plan", file)
	return p
}
