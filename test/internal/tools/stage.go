// Package tools gives checks the tools of others in known versions, installed by themselves into the
// user's cache directory: Python, boto3, the AWS CLI, Node.js, SAM, moto, AWS's Runtime Interface
// Emulator. It starts a Docker engine, and has what checks with them share: a scratch directory, a log, and
// the word for what cannot be tried.
package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// ErrNotRun is in errors that are no verdict: something cannot be had here.
var ErrNotRun = errors.New("not tried")

// A Stage is what its steps share.
type Stage struct {
	Root string // the module's directory
	Tmp  string // removed at the end, and without symbolic links
	Log  *Log
	Errs []error // of the steps
}

// Step runs a part with a verdict of its own. Whatever it says, the next one may run.
func (s *Stage) Step(name string, run func() error) {
	begin := time.Now()
	fmt.Printf("\n%s\n", name)
	if err := run(); err != nil {
		s.Errs = append(s.Errs, fmt.Errorf("%s: %w", name, err))
	}
	fmt.Printf("%s: %.1f s\n", name, time.Since(begin).Seconds())
}

// NewStage makes a stage. Close removes what is in its scratch directory.
func NewStage(ctx context.Context, name string) (*Stage, error) {
	root, err := harness.Root(ctx)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-"+name+"-")
	if err != nil {
		return nil, err
	}
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return nil, err
	}
	log, err := openLog(name)
	return &Stage{Root: root, Tmp: tmp, Log: log}, err
}

// Logger writes JSON to the log.
func (s *Stage) Logger() *slog.Logger { return slog.New(slog.NewJSONHandler(s.Log, nil)) }

// Close removes the scratch directory.
func (s *Stage) Close() error { return os.RemoveAll(s.Tmp) }

// Files are those that git knows or would add, by patterns if some are given.
func (s *Stage) Files(ctx context.Context, patterns ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}, patterns...)...)
	cmd.Dir = s.Root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of the repository: %w", err)
	}
	// One that is only listed has just been removed.
	return slices.DeleteFunc(strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), func(name string) bool {
		_, err := os.Stat(filepath.Join(s.Root, name))
		return err != nil
	}), nil
}

// Environment is this process's with any credentials, without what it has of AWS, and with
// these variables.
func Environment(own ...string) []string {
	others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	return append(append(others,
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", // Python's
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "PYTHONUTF8=1",
	), own...)
}

// Run runs a command whose output matters only when it fails.
func Run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// Go runs the go command in a folder.
func (s *Stage) Go(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	return s.Log.Run(cmd)
}

// A Log is a file in the user's cache directory, sqsbatch/logs, to which several processes may write at a time.
type Log struct {
	Path string
	mu   sync.Mutex
	file *os.File
}

func openLog(name string) (*Log, error) {
	path := filepath.Join(harness.CacheRoot(), "logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	return &Log{Path: path, file: file}, err
}

// Write writes p at once, so that lines of several processes do not mix.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

// Run runs a command, logs its output, and returns what it wrote to stdout.
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
