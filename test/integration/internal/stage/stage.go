// Package stage runs the steps of an integration check, with a scratch
// directory and a log, and ends the program with 1 when one fails:
//
//	func main() {
//		stage.Main("invoke", func(ctx context.Context, s *stage.Stage) []stage.Step {
//			return []stage.Step{{"build", func() error { return build(ctx, s) }}}
//		})
//	}
//
// The log is in the user's cache directory, sqsbatch/logs, and stays there.
package stage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

// ErrNotRun is in errors that are no verdict: what the step needs cannot be had
// here. It is no success: the exit code is 1, too, and the file that the flag
// -reason names says why, if nothing else was wrong.
var ErrNotRun = errors.New("not tried")

// A Stage is what its steps share.
type Stage struct {
	Root string // the module's directory
	Tmp  string // removed at the end
	Log  *Log
}

// A Step is a part with a verdict of its own.
type Step struct {
	Name string
	Run  func() error
}

// Main runs all steps, whatever comes of those before, and does not return.
func Main(name string, steps func(context.Context, *Stage) []Step) {
	reason := flag.String("reason", "", "a file to say in why there is no verdict, if that is all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, notRun := run(ctx, name, steps)
	for _, err := range append(wrong, notRun...) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	if len(wrong) == 0 && len(notRun) > 0 && *reason != "" {
		if err := os.WriteFile(*reason, []byte(errors.Join(notRun...).Error()+"\n"), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
	}
	if len(wrong)+len(notRun) > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, name string, steps func(context.Context, *Stage) []Step) (wrong, notRun []error) {
	s := &Stage{}
	root, err := module.Root(ctx)
	if err != nil {
		return []error{err}, nil
	}
	s.Root = root
	if s.Tmp, err = os.MkdirTemp("", "sqsbatch-"+name+"-"); err != nil {
		return []error{err}, nil
	}
	defer func() {
		if err := os.RemoveAll(s.Tmp); err != nil {
			wrong = append(wrong, err)
		}
	}()
	if s.Log, err = openLog(name); err != nil {
		return []error{err}, nil
	}
	for _, step := range steps(ctx, s) {
		begin := time.Now()
		fmt.Printf("\n%s\n", step.Name)
		err := step.Run()
		switch {
		case errors.Is(err, ErrNotRun):
			notRun = append(notRun, fmt.Errorf("%s: %w", step.Name, err))
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", step.Name, err))
		}
		fmt.Printf("%s: %.1f s\n", step.Name, time.Since(begin).Seconds())
	}
	fmt.Printf("\nlog: %s\n", s.Log.path)
	return wrong, notRun
}

// A Log is a file to which several processes may write at a time.
type Log struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func openLog(name string) (*Log, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	path := filepath.Join(cache, "sqsbatch", "logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	return &Log{path: path, file: file}, err
}

// Write writes p at once, so that lines of several processes do not mix.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

// Run runs a command, logs all that it prints, and returns its standard output.
// The error has what it printed last.
func (l *Log) Run(cmd *exec.Cmd) (string, error) {
	var stdout, all strings.Builder
	var mu sync.Mutex
	locked := writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return all.Write(p)
	})
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, locked), locked
	err := cmd.Run()
	name := strings.Join(append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...), " ")
	fmt.Fprintf(l, "\n$ %s\n%s", name, all.String())
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, tail(all.String(), 30))
	}
	return stdout.String(), err
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
