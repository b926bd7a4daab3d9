package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestMain(m *testing.M) {
	// The tests wait for visibility timeouts in real time, and need little processor time.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "6") // the flag exists
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := programs.dir(); err == nil {
			_ = os.RemoveAll(dir) // temporary anyway
		}
		os.Exit(code)
	}))
}

// runLocal runs `sqsbatch local` with programs that are built once for all tests, because
// linking one takes a second of processor time.
func runLocal(ctx context.Context, args []string, tio cli.IO) error {
	return runWith(ctx, args, tio, &programs)
}

func runWith(ctx context.Context, args []string, tio cli.IO, builder build.Builder) error {
	tio.Args = append([]string{"local"}, args...)
	return cli.Root(tio, local.Command(tio, builder)).ExecuteContext(ctx)
}

// programs asks the go command about each package, and builds it, once.
var programs = onceBuilder{dir: sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "sqsbatch-local-test-") })}

type onceBuilder struct {
	dir          func() (string, error)
	found, built sync.Map // functions by package
}

// once returns the result of the first call of a function for a key.
func once[T any](m *sync.Map, key string, f func() (T, error)) (T, error) {
	first, _ := m.LoadOrStore(key, sync.OnceValues(f))
	return first.(func() (T, error))()
}

func (o *onceBuilder) Find(_ context.Context, arg string) (*build.Package, error) {
	return once(&o.found, arg, func() (*build.Package, error) { return build.Go{}.Find(context.Background(), arg) })
}

func (o *onceBuilder) Build(_ context.Context, p *build.Package, _ string) (string, error) {
	return once(&o.built, p.Dir, func() (string, error) {
		dir, err := o.dir()
		if err == nil {
			dir, err = os.MkdirTemp(dir, filepath.Base(p.Dir))
		}
		if err != nil {
			return "", err
		}
		return build.Go{}.Build(context.Background(), p, dir)
	})
}

// root is the path of the repository, and own the path of its template.
var (
	root = filepath.Join("..", "..", "..", "..")
	own  = filepath.Join(root, "template.yaml")
)

type line struct {
	Type, MessageID, Body, Outcome, Reason, DeadLetterQueue, Error string
	Attempt, Records, Deleted, Back                                int
	DurationMs, AllowedMs, VisibleInMs                             *float64

	Process, PID, CutOff int
	Ended                string
	Asked                bool
	AgainInMs            *float64

	Sent, Succeeded, DeadLettered, Lost, Filtered, Removed, Remaining, Retried, Invocations, Starts, Crashes int
}

// output runs the command and returns its output.
func output(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, side bytes.Buffer
	err = runLocal(t.Context(), args, cli.IO{Stdin: strings.NewReader(stdin), Stdout: show.To(&out), Stderr: show.To(&side)})
	return out.String(), side.String(), err
}

// shown runs the command, which must succeed, and returns its output.
func shown(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	stdout, stderr, err := output(t, stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	return stdout
}

// run runs the command with JSON output and returns its lines.
func run(t *testing.T, stdin string, args ...string) ([]line, error) {
	t.Helper()
	stdout, stderr, err := output(t, stdin, append(args, "--output", "json")...)
	if err != nil {
		t.Log(stderr)
	}
	return parseLines(t, stdout), err
}

// done is like run, for a command that must succeed.
func done(t *testing.T, stdin string, args ...string) []line {
	t.Helper()
	lines, err := run(t, stdin, args...)
	golden.OK(t, err)
	return lines
}

func parseLines(t *testing.T, out string) (lines []line) {
	t.Helper()
	for s := range strings.Lines(out) {
		var l line
		if err := json.Unmarshal([]byte(s), &l); err != nil {
			t.Fatalf("standard output has a line that is no JSON object: %q", s)
		}
		lines = append(lines, l)
	}
	return lines
}

// checkFates checks "attempt outcome" of each body's records, in order.
func checkFates(t *testing.T, lines []line, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, l := range ofType(lines, "record") {
		got[l.Body] = append(got[l.Body], fmt.Sprintf("%d %s", l.Attempt, l.Outcome))
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("records:\n got %v\nwant %v", got, want)
	}
}

func summary(t *testing.T, lines []line) line {
	t.Helper()
	if len(lines) == 0 || lines[len(lines)-1].Type != "summary" {
		t.Fatalf("the last line is no summary: %+v", lines)
	}
	return lines[len(lines)-1]
}

func ofType(lines []line, kind string) (list []line) {
	for _, l := range lines {
		if l.Type == kind {
			list = append(list, l)
		}
	}
	return list
}

// orders returns input lines of orders with an sku.
func orders(n int, sku string) string {
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"id":"o-%d","sku":%q,"quantity":1}`+"\n", i, sku)
	}
	return in.String()
}

// inEvent writes an event file of records with these bodies.
func inEvent(t *testing.T, attributes map[string]string, bodies ...string) (path string) {
	t.Helper()
	var records []any
	for i, body := range bodies {
		records = append(records, map[string]any{"messageId": string(rune('a' + i)), "body": body, "attributes": attributes})
	}
	text, err := json.Marshal(map[string]any{"Records": records})
	golden.OK(t, err)
	return golden.File(t, "event.json", string(text))
}

// A script has functions that run while the command runs: each once, when the output
// contains a text, and in its own goroutine, because the command waits for its output.
type script struct {
	steps      map[string]func(output string)
	text       bytes.Buffer
	running    sync.WaitGroup
	interrupts chan os.Signal
}

func (s *script) Write(p []byte) (int, error) {
	n, err := s.text.Write(p)
	output := s.text.String()
	for what, step := range s.steps {
		if strings.Contains(output, what) {
			delete(s.steps, what)
			s.running.Go(func() { step(output) })
		}
	}
	return n, err
}

func (s *script) run(stdin string, args ...string) (text string, err error) {
	s.interrupts = make(chan os.Signal, 2)
	err = runLocal(context.Background(), args, cli.IO{Stdin: strings.NewReader(stdin), Stdout: show.To(s), Stderr: show.To(io.Discard), Interrupts: s.interrupts})
	s.running.Wait()
	return s.text.String(), err
}

func (s *script) interrupt(string) { s.interrupts <- os.Interrupt }

// interrupted runs the command, interrupts it n times when the output contains what, and
// returns the output.
func interrupted(stdin, what string, n int, args ...string) (text string, err error) {
	var s script
	s.steps = map[string]func(string){what: func(output string) {
		for range n {
			s.interrupt(output)
		}
	}}
	return s.run(stdin, args...)
}

// watched runs the command with JSON output.
type watched struct {
	saw        func(line) // called for each line of the output
	interrupts chan os.Signal
	lines      []line
	pid        int // of the latest process
	did        bool
	rest       []byte
	side       bytes.Buffer
}

func (w *watched) run(t *testing.T, stdin io.Reader, args ...string) []line {
	t.Helper()
	err := runLocal(t.Context(), append(args, "--output", "json"), cli.IO{Stdin: stdin, Stdout: show.To(w), Stderr: show.To(&w.side), Interrupts: w.interrupts})
	if err != nil {
		t.Fatalf("%v\n%s", err, w.side.String())
	}
	return w.lines
}

// once reports whether this is the first call.
func (w *watched) once() bool {
	first := !w.did
	w.did = true
	return first
}

func (w *watched) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		text, after, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return 0, fmt.Errorf("%q: %w", text, err)
		}
		w.lines = append(w.lines, l)
		if l.Type == "process" {
			w.pid = l.PID
		}
		w.saw(l)
		w.rest = slices.Clone(after)
	}
}

var endpoint = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// clientOf returns a client of the endpoint in the command's output.
func clientOf(text string) (c *sqs.Client, url string) {
	url = endpoint.FindString(text)
	return sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}), url
}
