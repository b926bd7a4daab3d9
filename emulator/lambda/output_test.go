package lambda_test

import (
	"cmp"
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
	printed := map[string][]string{} // by request id
	for i := range 20 {
		var text, want []string
		for j := range 50 {
			text = append(text, fmt.Sprintf("line %d of %d", j, i))
			want = append(want, "stdout "+text[j])
		}
		r := invoke(t, d, command{Do: "print", Text: strings.Join(text, ",")})
		mustAnswer(t, r, "null")
		printed[r.RequestID] = append(want, "stderr on stderr")
	}
	for id, want := range printed {
		got := lines.of(id)
		slices.SortStableFunc(got, func(a, b string) int { return cmp.Compare(b[:6], a[:6]) }) // two pipes have no order
		if !slices.Equal(got, want) {
			t.Errorf("lines %q, want %q", got, want)
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
