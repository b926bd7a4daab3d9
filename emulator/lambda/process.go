package lambda

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// process is a running bootstrap with its Runtime API.
type process struct {
	*subprocess.Process
	api *runtimeAPI

	deployment  *Deployment
	environment int
	exited      chan struct{} // closed when the process has ended and api is closed

	mu        sync.Mutex
	requestID string // the invocation of the lines that are printed now
}

// sigtermGrace is the time between SIGTERM and SIGKILL for a runtime with an internal extension
// ("Lambda execution environment lifecycle", Shutdown).
const sigtermGrace = 500 * time.Millisecond

func startProcess(d *Deployment, environment int, logStream string) (*process, error) {
	api, err := serveRuntimeAPI(d.fn)
	if err != nil {
		return nil, err
	}
	p := &process{api: api, deployment: d, environment: environment, exited: make(chan struct{})}
	if err := p.start(logStream); err != nil {
		api.close()
		return nil, err
	}
	return p, nil
}

func (p *process) start(logStream string) error {
	fn := p.deployment.fn
	path, err := exec.LookPath(fn.Command[0])
	if err != nil {
		return err
	}
	// exec.Cmd would take a relative path as relative to Dir.
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	cmd := &exec.Cmd{Path: path, Args: fn.Command, Dir: dir, Env: environ(fn, p.api.addr, dir, logStream)}
	var output func(stream, text string)
	if fn.Output != nil {
		output = p.line
	}
	if p.Process, err = subprocess.Start(cmd, output); err != nil {
		return err
	}
	go func() {
		<-p.Ended()
		p.api.close()
		close(p.exited)
	}()
	return nil
}

// handlerName is the handler of a function on provided.al2023.
const handlerName = "bootstrap"

// environ returns a process's environment, from "Using Lambda environment variables", Defined
// runtime environment variables. Lambda does not set AWS_EXECUTION_ENV for provided runtimes.
func environ(fn Function, runtimeAPI, dir, logStream string) []string {
	vars := map[string]string{
		"LANG":                            "en_US.UTF-8",
		"TZ":                              ":UTC",
		"LAMBDA_TASK_ROOT":                dir,
		"LAMBDA_RUNTIME_DIR":              "/var/runtime",
		"AWS_REGION":                      fn.Region,
		"AWS_DEFAULT_REGION":              fn.Region,
		"AWS_ACCESS_KEY_ID":               "test",
		"AWS_SECRET_ACCESS_KEY":           "test",
		"AWS_SESSION_TOKEN":               "test",
		"AWS_LAMBDA_FUNCTION_NAME":        fn.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     functionVersion,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(fn.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + fn.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      logStream,
		"_HANDLER":                        handlerName,
	}
	if fn.shared() {
		vars["AWS_LAMBDA_MAX_CONCURRENCY"] = strconv.Itoa(fn.ConcurrencyPerEnvironment)
	}
	maps.Copy(vars, fn.Env)
	vars["AWS_LAMBDA_RUNTIME_API"] = runtimeAPI // Env must not override it
	return subprocess.Environ(vars)
}

// attribute sets the invocation of the lines that are printed from now on. On Windows,
// where Drain does nothing, earlier lines may get it, too.
func (p *process) attribute(requestID string) {
	p.mu.Lock()
	p.requestID = requestID
	p.mu.Unlock()
}

func (p *process) line(stream, text string) {
	l := Line{Time: time.Now(), Environment: p.environment, Stream: stream, Text: text}
	p.mu.Lock()
	l.RequestID = p.requestID
	p.mu.Unlock()
	p.deployment.output.Lock()
	defer p.deployment.output.Unlock()
	p.deployment.fn.Output(l)
}

// kill ends the process and waits for its end. It may be called more than once, and by several
// goroutines.
func (p *process) kill() {
	if p.api.registered() != "" {
		ctx, cancel := context.WithTimeout(context.Background(), sigtermGrace)
		defer cancel()
		p.Stop(ctx)
	} else {
		p.Kill()
	}
	<-p.exited
}

// exit returns the error of an invocation whose process has ended, with Lambda's text.
func (p *process) exit(requestID string) *FunctionError {
	status := "Runtime exited without providing a reason"
	if err := p.Err(); err != nil {
		status = "Runtime exited with error: " + err.Error()
	}
	return &FunctionError{
		Type:    "Runtime.ExitError",
		Message: fmt.Sprintf("RequestId: %s Error: %s", requestID, status),
		Output:  p.LastLines(),
	}
}

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
