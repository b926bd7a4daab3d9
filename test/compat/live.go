package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// localStack is the image that the checks were written against.
const localStack = "localstack/localstack:4.9"

var withLocalStack bool

func liveFlags(f *flag.FlagSet) {
	f.BoolVar(&withLocalStack, "localstack", false, "also against LocalStack, in Docker")
}

// mistakes are what is wrong in the stack of live_stack.py.
var mistakes = []string{
	"SB106 orders.VisibilityTimeout", "SB202 orders.RedrivePolicy.maxReceiveCount", "SB204 orders-dlq.MessageRetentionPeriod",
	"SB101 mapping", "SB302 role orders", "SB501 alarm orders-age.Threshold",
}

// checkLive deploys a stack with six mistakes, and one without, to servers of others that stand in
// for AWS. `sqsbatch lint --live` must find these six, and the commands that it gives must fix those that
// have one.
//
// It needs Python 3 with its venv module, and PyPI on the first use: it shares SAM's environment, which
// has moto, and has one for the AWS CLI.
func checkLive(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	w := &liveWorld{stage: s, sam: must.Get(tools.InstallSAM(ctx)), cli: must.Get(tools.InstallAWSCLI(ctx)), tool: filepath.Join(s.Tmp, "sqsbatch")}
	must.Get(s.Go(ctx, s.Root, "build", "-o", w.tool, "./cmd/sqsbatch"))
	s.Step("moto", func() (err error) {
		defer must.Return(&err)
		moto := must.Get(tools.StartMoto(ctx, s, w.sam, programs+"/moto_s3.py"))
		defer moto.Stop()
		w.try(ctx, moto.URL)
		return nil
	})
	if withLocalStack {
		s.Step("LocalStack", func() error { return w.localStack(ctx) })
	}
	return nil
}

// liveWorld is what the steps share.
type liveWorld struct {
	stage *tools.Stage
	sam   *tools.SAM
	cli   *tools.Python
	tool  string
}

// try deploys the stack, finds its mistakes and fixes them.
func (w *liveWorld) try(ctx context.Context, url string) {
	script := filepath.Join(w.stage.Root, programs, "live_stack.py")
	must.Get(w.stage.Log.Run(w.sam.Python(ctx, script, url)))
	if found, _ := w.lint(ctx, url, "--function", "good"); len(found) > 0 {
		must.Failf("the queue without mistakes has %q", found)
	}
	found, fixes := w.lint(ctx, url, "*")
	if !slices.Equal(found, mistakes) {
		must.Failf("found %q, want %q", found, mistakes)
	}
	fmt.Printf("%d findings, as many as mistakes\n", len(found))
	for _, fix := range fixes {
		w.run(ctx, fix)
	}
	if left, _ := w.lint(ctx, url, "*"); !slices.Equal(left, mistakes[4:]) {
		must.Failf("after %d commands there is %q, want %q", len(fixes), left, mistakes[4:])
	}
	fmt.Printf("%d commands fix %[1]d of them\n", len(fixes))
}

// lint returns the findings of queues, without the ids of mappings, and the commands that fix them.
func (w *liveWorld) lint(ctx context.Context, url string, of ...string) (found, fixes []string) {
	args := append([]string{"lint", "--live", "--region", "eu-west-1", "--endpoint-url", url, "--output", "json", "--severity", "note"}, of...)
	cmd := exec.CommandContext(ctx, w.tool, args...)
	cmd.Env = tools.Environment("AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	cmd.Stderr = w.stage.Log
	out, _ := cmd.Output() // status 1: there are findings
	fmt.Fprintf(w.stage.Log, "%s\n", out)
	if bytes.Contains(out, []byte("s3cr3t")) {
		must.Failf("a secret is in the output")
	}
	var last string
	for line := range bytes.Lines(out) {
		var x struct {
			Type, Rule, Resource, Attribute, Message string
			Fix                                      struct{ Says string }
		}
		must.Do(json.Unmarshal(line, &x))
		switch last = x.Type; x.Type {
		case "unknown", "unreadable":
			must.Failf("%s: %s", x.Type, x.Message)
		case "finding":
			resource := x.Resource
			if strings.HasPrefix(resource, "mapping ") {
				resource = "mapping"
			}
			found = append(found, strings.TrimSuffix(x.Rule+" "+resource+"."+x.Attribute, "."))
			if strings.HasPrefix(x.Fix.Says, "aws ") {
				fixes = append(fixes, x.Fix.Says)
			}
		}
	}
	if last != "summary" {
		must.Failf("the output has no summary")
	}
	return found, fixes
}

// run runs a command of the AWS CLI in a shell, as people copy it.
func (w *liveWorld) run(ctx context.Context, command string) {
	bin := filepath.Dir(w.cli.Command(ctx).Path)
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = tools.Environment("PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_PAGER=")
	must.Get(w.stage.Log.Run(cmd))
}

// localStack is try with LocalStack in a container of the machine's Docker engine.
func (w *liveWorld) localStack(ctx context.Context) (err error) {
	defer must.Return(&err)
	docker := func(args ...string) (string, error) {
		return w.stage.Log.Run(exec.CommandContext(ctx, "docker", args...))
	}
	if out, err := docker("pull", "--quiet", localStack); err != nil {
		return fmt.Errorf("%w: %s cannot be pulled: %w\n%s", tools.ErrNotRun, localStack, err, out)
	}
	address := must.Get(harness.FreeAddress())
	id := strings.TrimSpace(must.Get(docker("run", "--detach", "--rm", "--publish", address+":4566", "--volume", "/var/run/docker.sock:/var/run/docker.sock", localStack)))
	defer func() {
		_, _ = w.stage.Log.Run(exec.Command("docker", "rm", "--force", id)) // it may have ended
	}()
	must.Get(docker("exec", id, "sh", "-c", "until awslocal sqs list-queues; do sleep 1; done"))
	w.try(ctx, "http://"+address)
	return nil
}
