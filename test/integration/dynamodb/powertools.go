package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/nodejs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// The releases that the checks were written against.
const (
	powertoolsPython     = "3.37.0"
	powertoolsTypeScript = "2.35.0"
	awsSDKForJS          = "3.1164.0"
	libDynamoDBForJS     = "3.1162.0"
)

// shared is the table, and prefix is of the keys, that the programs name, too.
const (
	shared = "idempotency"
	prefix = "ship-order"
)

// programs is where those of the libraries are.
const programs = "test/integration/dynamodb/powertools"

// library is Powertools in one language.
type library struct {
	name    string
	hash    func(key string) string
	command func(ctx context.Context, args ...string) *exec.Cmd
}

// python needs PyPI on the first use.
func (w *world) python(ctx context.Context) *pyenv.Env {
	env, err := pyenv.Install(ctx, "powertools-"+powertoolsPython+"-boto3-"+awscli.Boto3, "aws-lambda-powertools=="+powertoolsPython, "boto3=="+awscli.Boto3)
	if err != nil {
		must.Failf("%w: %w", stage.ErrNotRun, err)
	}
	return env
}

func (w *world) shareWithPython(ctx context.Context) (err error) {
	defer must.Return(&err)
	env, program := w.python(ctx), filepath.Join(w.stage.Root, programs, "program.py")
	return w.share(ctx, library{"Python", idempotency.PowertoolsPython, func(ctx context.Context, args ...string) *exec.Cmd {
		return env.Command(ctx, append([]string{"-B", program}, args...)...)
	}})
}

func (w *world) shareWithTypeScript(ctx context.Context) error {
	env, err := nodejs.Install(ctx, w.stage.Log, "powertools-typescript-"+powertoolsTypeScript+"-"+awsSDKForJS, "@aws-lambda-powertools/idempotency@"+powertoolsTypeScript,
		"@aws-sdk/client-dynamodb@"+awsSDKForJS, "@aws-sdk/lib-dynamodb@"+libDynamoDBForJS)
	if err != nil {
		return fmt.Errorf("%w: %w", stage.ErrNotRun, err)
	}
	program := filepath.Join(w.stage.Root, programs, "program.cjs")
	return w.share(ctx, library{"TypeScript", idempotency.PowertoolsTypeScript, func(ctx context.Context, args ...string) *exec.Cmd {
		return env.Command(ctx, append([]string{program}, args...)...)
	}})
}

// share tries every situation with keys of each kind.
func (w *world) share(ctx context.Context, l library) (err error) {
	defer must.Return(&err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w.createTable(ctx, shared)
	var wg sync.WaitGroup
	keys := []string{"o-1", `"quoted" \ o/1`, "Größe 東京 😀"}
	errs := make([]error, len(keys))
	for i, key := range keys {
		wg.Go(func() {
			for _, s := range situations {
				p := &pair{world: w, library: l, order: key + " " + s.name}
				if err := must.Run(func() { s.try(ctx, p) }); err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("%s: %w", p.order, err))
				}
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d situations with %d keys each\n", len(situations), len(keys))
	return errors.Join(errs...)
}

// environment is what a program needs to find the server.
func (w *world) environment(more ...string) []string {
	return stage.Environment(append(more, "AWS_ENDPOINT_URL_DYNAMODB="+w.url, "POWERTOOLS_DEV=true")...)
}

// call is an invocation of their function, in a process of its own.
type call struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *json.Decoder
	stderr *strings.Builder
}

// said is a line that their program prints.
type said struct {
	Event  string
	Result json.RawMessage
	Error  string // the name of the exception
}

func (s said) String() string {
	return fmt.Sprintf("%s, result %q, error %q", s.Event, s.Result, s.Error)
}

// start invokes their function with so much time left, and returns its first line: the
// function was called, or the invocation ended without that.
func (p *pair) start(ctx context.Context, left time.Duration) (*call, said) {
	c := &call{cmd: p.command(ctx, fmt.Sprint(left.Milliseconds()), p.body()), stderr: &strings.Builder{}}
	c.cmd.Env = p.world.environment(c.cmd.Env...)
	c.cmd.Stderr = c.stderr
	c.input = must.Get(c.cmd.StdinPipe())
	c.output = json.NewDecoder(must.Get(c.cmd.StdoutPipe()))
	must.Do(c.cmd.Start())
	return c, c.next()
}

// next is the program's next line. With the last one the process ends.
func (c *call) next() (line said) {
	err := c.output.Decode(&line)
	if err == nil && line.Event == "began" {
		return line
	}
	_ = c.input.Close()
	if err := errors.Join(err, c.cmd.Wait()); err != nil {
		must.Failf("%s: %w\n%s", filepath.Base(c.cmd.Path), err, c.stderr)
	}
	return line
}

// end has their function end, by "return" or "fail".
func (c *call) end(how string) said {
	must.Get(io.WriteString(c.input, how+"\n"))
	return c.next()
}
