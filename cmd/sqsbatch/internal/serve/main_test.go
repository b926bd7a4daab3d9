package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if binaryDir != "" {
			_ = os.RemoveAll(binaryDir) // temporary anyway
		}
		os.Exit(code)
	}))
}

var binaryDir string

// binary builds the command once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sqsbatch-serve-")
	if err != nil {
		return "", err
	}
	binaryDir = dir
	path := filepath.Join(dir, "sqsbatch")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", path, "github.com/sqsbatch/sqsbatch/cmd/sqsbatch").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// A process is a running `sqsbatch sqs`.
type process struct {
	*testing.T
	cmd    *exec.Cmd
	start  string // standard output up to "ready"
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

// begin starts the command and waits until it is ready.
func begin(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, args...)
	for {
		line, err := p.stdout.ReadString('\n')
		p.start += line
		if err != nil {
			_ = p.cmd.Wait() // the output says more
			t.Fatalf("it ended before it was ready:\n%s%s", p.start, p.stderr)
		}
		if line == "ready\n" {
			return p
		}
	}
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{T: t, cmd: exec.Command(path, append([]string{"sqs"}, args...)...), stderr: &bytes.Buffer{}}
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait() // killed
		}
	})
	return p
}

// end reads what is left of the output and returns the exit status.
func (p *process) end() (rest string, status int) {
	p.Helper()
	out, err := io.ReadAll(p.stdout)
	if err != nil {
		p.Error(err)
	}
	_ = p.cmd.Wait() // the status says it
	return string(out), p.cmd.ProcessState.ExitCode()
}

// client is the SDK's with nothing but the variables that the process printed.
func (p *process) client() *awssqs.Client {
	p.Helper()
	for line := range strings.Lines(p.start) {
		line = strings.NewReplacer("export ", "", "$env:", "", " = '", "=", "'", "").Replace(strings.TrimSpace(line))
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "AWS_") {
			p.Setenv(name, value)
		}
	}
	return newClient(p.T)
}

// newClient is the SDK's as the environment configures it.
func newClient(t *testing.T) *awssqs.Client {
	t.Helper()
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CA_BUNDLE", "") // would need a client of the SDK's own
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	settings, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(&http.Client{Transport: connections}))
	if err != nil {
		t.Fatal(err)
	}
	return awssqs.NewFromConfig(settings, func(o *awssqs.Options) { o.RetryMaxAttempts = 1 })
}
