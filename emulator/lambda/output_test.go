package lambda_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// recorder keeps the lines of Function.Output.
type recorder struct {
	mu    sync.Mutex
	lines []lambda.Line
	added *sync.Cond
}

func newRecorder() *recorder {
	r := &recorder{}
	r.added = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) add(l lambda.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
	r.added.Broadcast()
}

// wait returns the first line that fits.
func (r *recorder) wait(fits func(lambda.Line) bool) lambda.Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	for seen := 0; ; seen++ {
		for seen == len(r.lines) {
			r.added.Wait()
		}
		if fits(r.lines[seen]) {
			return r.lines[seen]
		}
	}
}

func (r *recorder) of(requestID string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l.RequestID == requestID {
			lines = append(lines, l.Stream+" "+l.Text)
		}
	}
	return lines
}

// Each line belongs to the invocation that printed it, also when the next one
// follows at once.
func TestOutputKeepsItsInvocation(t *testing.T) {
	lines := newRecorder()
	d := deploy(t, "worker", func(f *lambda.Function) { f.Output = lines.add })
	const n = 20
	var ids []string
	for i := range n {
		var text []string
		for j := range 50 {
			text = append(text, fmt.Sprintf("line %d of %d", j, i))
		}
		r := invoke(t, d, command{Do: "print", Text: strings.Join(text, ",")})
		mustAnswer(t, r, "null")
		ids = append(ids, r.RequestID)
	}
	for i, id := range ids {
		var stdout, stderr []string
		for _, l := range lines.of(id) {
			if text, ok := strings.CutPrefix(l, "stdout "); ok {
				stdout = append(stdout, text)
			} else {
				stderr = append(stderr, l)
			}
		}
		if len(stdout) != 50 || stdout[0] != fmt.Sprintf("line 0 of %d", i) || stdout[49] != fmt.Sprintf("line 49 of %d", i) {
			t.Errorf("invocation %d: stdout %q", i, stdout)
		}
		if len(stderr) != 1 || stderr[0] != "stderr on stderr" {
			t.Errorf("invocation %d: stderr %q", i, stderr)
		}
	}
	if l := lines.lines[0]; l.Environment != 1 || l.Time.IsZero() {
		t.Errorf("first line %+v", l)
	}
}

// A process that prints and ends loses no line to a slow reader, and a child
// that escapes with its pipes does not hold up the end.
func TestOutputAfterTheEnd(t *testing.T) {
	if !canTerminate {
		t.Skip("no sessions here")
	}
	lines := newRecorder()
	first := true
	d := deploy(t, "worker", func(f *lambda.Function) {
		f.Output = func(l lambda.Line) {
			if first {
				first = false
				time.Sleep(700 * time.Millisecond) // longer than any grace
			}
			lines.add(l)
		}
	})
	r := invoke(t, d, command{Do: "escape", Size: 500})
	mustFail(t, r, "Runtime.ExitError", "exit status 4")
	got := lines.of(r.RequestID)
	if len(got) != 501 || got[500] != "stdout line 499" {
		t.Fatalf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	child, err := strconv.Atoi(strings.TrimPrefix(got[0], "stdout "))
	ok(t, err)
	if !alive(child) {
		t.Error("the child did not escape: the test shows nothing")
	}
	if p, err := os.FindProcess(child); err == nil {
		_ = p.Kill()
	}
}
