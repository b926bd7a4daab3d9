package samdeploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	line      bytes.Buffer // what stands at the cursor
	confirmed bool         // whether to deploy was asked
	err       error
}

// Write is what SAM prints. A question is a line that is not ended.
func (a *answers) Write(p []byte) (int, error) {
	a.said.Write(p)
	a.line.Write(p)
	line := a.line.String()
	line = line[strings.LastIndexByte(line, '\n')+1:]
	a.line.Reset()
	a.line.WriteString(line)
	question := strings.TrimSpace(line)
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
	a.line.Reset()
	a.said.WriteString(answer + "\n")
	_, a.err = io.WriteString(a.in, answer+"\n")
	return len(p), nil
}
