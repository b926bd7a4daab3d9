package samdeploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/moto"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

type parameters map[string]string

func (p parameters) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		list = append(list, name+"="+p[name])
	}
	return list
}

type deployer struct {
	stage   *stage.Stage
	cli     *samcli.CLI
	server  *moto.Server
	changes string // the file with what properties have come to
	source  string
}

func newDeployer(ctx context.Context, s *stage.Stage) *deployer {
	sam := must.Get(samcli.Install(ctx))
	d := &deployer{stage: s, cli: sam, source: filepath.Join(s.Tmp, "source"), changes: filepath.Join(s.Tmp, "resolved")}
	must.Do(samcli.Copy(ctx, s, d.source, ""))
	d.server = must.Get(moto.Start(ctx, s, sam, "test/integration/samdeploy/python/server.py", d.changes))
	return d
}

// environ is a user's with an account.
func (d *deployer) environ() []string {
	return stage.Environment("AWS_ENDPOINT_URL="+d.server.URL, "SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=0.2", "PYTHONUNBUFFERED=1")
}

// sam runs SAM. Without answers it must not ask anything.
func (d *deployer) sam(ctx context.Context, a *answers, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := d.cli.Command(ctx, args...)
	cmd.Dir, cmd.Env = d.source, d.environ()
	if a == nil {
		must.Get(d.stage.Log.Run(cmd))
		return
	}
	a.in = must.Get(cmd.StdinPipe())
	cmd.Stdout, cmd.Stderr = a, a
	err := cmd.Run()
	fmt.Fprintf(d.stage.Log, "\n$ sam %s\n%s", strings.Join(args, " "), a.said.Bytes())
	if err != nil || a.err != nil {
		must.Failf("sam %s: %w\n%s", strings.Join(args, " "), errors.Join(err, a.err), a.said.Bytes())
	}
}

// answers are what a person types: yes to the question whether to deploy, what
// is said in to, and else Enter, which takes the default.
type answers struct {
	to        map[string]string // by how a question begins
	in        io.Writer
	said      bytes.Buffer
	confirmed bool // whether to deploy was asked
	err       error
}

// Write is what SAM prints. A question is a line that is not ended.
func (a *answers) Write(p []byte) (int, error) {
	a.said.Write(p)
	said := a.said.String()
	question := strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])
	if !strings.HasSuffix(question, "]:") {
		return len(p), nil
	}
	answer := ""
	if strings.HasPrefix(question, "Deploy this changeset?") {
		a.confirmed, answer = true, "y"
	}
	for begin, text := range a.to {
		if strings.HasPrefix(question, begin) {
			answer = text
		}
	}
	a.said.WriteString(answer + "\n")
	_, a.err = io.WriteString(a.in, answer+"\n")
	return len(p), nil
}

// An object is one of JSON.
type object = map[string]any

// at goes down a path of names.
func at(o object, path ...string) any {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(object)
	}
	return o[path[len(path)-1]]
}

// ask has python/describe.py say what there is of a stack, by the services' APIs; without a
// stack, what there is of any.
func (d *deployer) ask(ctx context.Context, into any, stack ...string) {
	cmd := d.cli.Python(ctx, append([]string{filepath.Join(d.stage.Root, "test", "integration", "samdeploy", "python", "describe.py")}, stack...)...)
	cmd.Env = d.environ()
	must.Do(json.Unmarshal([]byte(must.Get(d.stage.Log.Run(cmd))), into))
}

// A resource is one with its properties, as CloudFormation asks for it.
type resource struct {
	Stack, Resource string
	Properties      object
}

// resolved are the resources that were made and changed, in order.
func (d *deployer) resolved() (all []resource) {
	content, err := os.ReadFile(d.changes)
	if !errors.Is(err, os.ErrNotExist) {
		must.Do(err)
	}
	for line := range bytes.Lines(content) {
		var r resource
		if err := json.Unmarshal(line, &r); err != nil {
			must.Failf("%q: %w", line, err)
		}
		all = append(all, r)
	}
	return all
}

// property is the latest value of a resource's property.
func (d *deployer) property(stack, logicalID, name string) (found any) {
	for _, r := range d.resolved() {
		if r.Stack == stack && r.Resource == logicalID {
			found = r.Properties[name]
		}
	}
	return found
}
