package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Limits and defaults of a function's configuration, from "Lambda quotas" and
// "CreateFunction" in the AWS Lambda documentation.
const (
	defaultTimeout     = 3 * time.Second
	maxTimeout         = 15 * time.Minute
	maxTimeoutManaged  = 90 * time.Minute // on Lambda Managed Instances
	defaultMemoryMB    = 128
	maxMemoryMB        = 10240
	defaultConcurrency = 10
	maxConcurrency     = 1000
	maxPerEnvironment  = 1600
	defaultRegion      = "us-east-1"
	defaultAccountID   = "000000000000"
	functionVersion    = "$LATEST"

	// initTimeout is Lambda's limit of the Init phase. After it, Lambda tries again within the
	// function's timeout ("Lambda execution environment lifecycle").
	initTimeout = 10 * time.Second

	// maxPayload is the largest payload of a synchronous request, 6 MB ("Lambda quotas").
	// maxResponse is larger, as in Lambda's Runtime API.
	maxPayload  = 6 * 1024 * 1024
	maxResponse = maxPayload + 100
)

// Function configures a function. Exactly one of Command and Handler is required.
// Other fields may be zero.
type Function struct {
	// Name is the function's name: up to 64 letters, digits, "-" and "_".
	// Defaults to "function".
	Name string

	// Region and AccountID are part of the function's ARN and its environment. They default
	// to "us-east-1" and "000000000000".
	Region, AccountID string

	// Timeout limits one invocation: up to 15 minutes, or 90 on Lambda Managed Instances (if
	// ConcurrencyPerEnvironment is set). Lambda takes whole seconds.
	// Tests may use shorter times here. Defaults to 3 s.
	Timeout time.Duration

	// MemoryMB is the value of AWS_LAMBDA_FUNCTION_MEMORY_SIZE, 128 to 10,240. Memory is not
	// limited. Defaults to 128.
	MemoryMB int

	// Env has environment variables in addition to Lambda's, which it overrides. Defaults to
	// none.
	Env map[string]string

	// Command is the bootstrap and its arguments: a program that speaks the
	// Runtime API, such as one built with aws-lambda-go. A path without a
	// separator is looked up in PATH. The program's directory is the process's
	// working directory and LAMBDA_TASK_ROOT.
	Command []string

	// Handler runs in this process instead of Command. Its context ends at the invocation's
	// deadline and has aws-lambda-go's LambdaContext. A handler that ignores its context
	// cannot be killed: the invocation is answered as timed out, and the goroutine
	// continues. To use virtual time, call Start inside the synctest bubble.
	Handler func(ctx context.Context, payload []byte) ([]byte, error)

	// Concurrency is the largest number of environments, 1 to 1,000, and so of concurrent
	// invocations. Defaults to 10.
	Concurrency int

	// ConcurrencyPerEnvironment is the number of invocations that one environment runs at
	// the same time on Lambda Managed Instances, 1 to 1,600. Above 1, a Command gets
	// AWS_LAMBDA_MAX_CONCURRENCY, which aws-lambda-go uses, and Concurrency times as many
	// invocations may run. A timeout then ends one invocation, and the others go on. The
	// timed-out code keeps its place until it answers. Zero is ordinary Lambda: one at a time.
	ConcurrencyPerEnvironment int

	// Output gets each line that a Command prints, one call at a time. It must not call
	// Close. If it is slow, the function is slowed down as by a full pipe. Defaults to
	// discarding the lines.
	Output func(Line)
}

// Line is one line that a function's process printed.
type Line struct {
	Time        time.Time
	Environment int
	// RequestID is the current invocation. Empty while the process starts or is idle.
	RequestID string
	// Stream is "stdout" or "stderr".
	Stream string
	// Text is the line without its end. Lines above 256 KiB come in pieces, as in
	// CloudWatch Logs.
	Text string
}

var functionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (f Function) withDefaults() Function {
	f.Name = cmp.Or(f.Name, "function")
	f.Region = cmp.Or(f.Region, defaultRegion)
	f.AccountID = cmp.Or(f.AccountID, defaultAccountID)
	f.Timeout = cmp.Or(f.Timeout, defaultTimeout)
	f.MemoryMB = cmp.Or(f.MemoryMB, defaultMemoryMB)
	f.Concurrency = cmp.Or(f.Concurrency, defaultConcurrency)
	return f
}

func (f Function) validate() error {
	longest := maxTimeout
	if f.ConcurrencyPerEnvironment > 0 {
		longest = maxTimeoutManaged
	}
	switch {
	case !functionName.MatchString(f.Name):
		return fmt.Errorf("lambda: Function.Name %q: need 1 to 64 letters, digits, - or _", f.Name)
	case len(f.Command) == 0 && f.Handler == nil:
		return errors.New("lambda: Function needs a Command or a Handler")
	case len(f.Command) > 0 && f.Handler != nil:
		return errors.New("lambda: Function has both a Command and a Handler: keep one")
	case len(f.Command) > 0 && f.Command[0] == "":
		return errors.New(`lambda: Function.Command[0] is "": need the path of a program`)
	case f.Timeout < 0 || f.Timeout > longest:
		return fmt.Errorf("lambda: Function.Timeout %v: need more than 0 and at most %v (%v without ConcurrencyPerEnvironment, %v with it)",
			f.Timeout, longest, maxTimeout, maxTimeoutManaged)
	case f.MemoryMB < defaultMemoryMB || f.MemoryMB > maxMemoryMB:
		return fmt.Errorf("lambda: Function.MemoryMB %d: need %d to %d", f.MemoryMB, defaultMemoryMB, maxMemoryMB)
	case f.Concurrency < 1 || f.Concurrency > maxConcurrency:
		return fmt.Errorf("lambda: Function.Concurrency %d: need 1 to %d", f.Concurrency, maxConcurrency)
	case f.ConcurrencyPerEnvironment < 0 || f.ConcurrencyPerEnvironment > maxPerEnvironment:
		return fmt.Errorf("lambda: Function.ConcurrencyPerEnvironment %d: need 1 to %d, or 0 for ordinary Lambda", f.ConcurrencyPerEnvironment, maxPerEnvironment)
	}
	return nil
}

// perEnvironment returns the number of invocations that an environment may run at a time.
func (f Function) perEnvironment() int { return max(f.ConcurrencyPerEnvironment, 1) }

// shared reports whether an environment runs several invocations at a time.
func (f Function) shared() bool { return f.perEnvironment() > 1 }

func (f Function) arn() string {
	return "arn:aws:lambda:" + f.Region + ":" + f.AccountID + ":function:" + f.Name
}
