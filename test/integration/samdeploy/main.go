// Package samdeploy deploys this repository as a user does, with "sam deploy" and
// samconfig.toml, against moto's server in place of AWS, reads back what there
// is by the services' APIs, updates it, and deletes it again.
//
// It needs Python 3 with its venv module, and PyPI on the first use. moto does
// not run anything: that the function works is the business of samlocal and rie.
// What is missing in moto's CloudFormation for this stack is in python/server.py.
package samdeploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	d := newDeployer(ctx, s)
	defer d.server.Stop()
	d.sam(ctx, nil, "build")
	for _, step := range []struct {
		what string
		run  func(context.Context, *deployer)
	}{
		{"the environments of samconfig.toml", environments},
		{"an update", update},
		{"FIFO queues and a topic", fifo},
		{"sam deploy --guided", guided},
		{"sam delete", deleteAll},
	} {
		if err := must.Run(func() { step.run(ctx, d) }); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// environments deploys each of them as samconfig.toml says.
func environments(ctx context.Context, d *deployer) {
	for _, e := range []struct {
		name, stack string
		confirm     bool // samconfig.toml asks before it deploys
		set         parameters
	}{
		{"default", "orders", true, parameters{}},
		{"dev", "orders-dev", false, parameters{"LogLevel": "DEBUG", "MaximumConcurrency": "2"}},
		{"prod", "orders-prod", true, parameters{
			"FunctionTimeout": "30", "MemorySize": "512", "BatchSize": "100", "BatchWindow": "1", "MaximumConcurrency": "50", "LogLevel": "WARN",
		}},
	} {
		a := &answers{}
		d.sam(ctx, a, "deploy", "--config-env", e.name)
		if a.confirmed != e.confirm {
			must.Failf("environment %s: asked before deploying: %v, want %v", e.name, a.confirmed, e.confirm)
		}
		d.expect(ctx, e.stack, "CREATE_COMPLETE", e.set)
	}
}

// update changes parameters of a stack; others keep their values. A deployment of
// what stands already changes nothing and fails nothing.
func update(ctx context.Context, d *deployer) {
	set := parameters{"FunctionTimeout": "60", "BatchSize": "50", "BatchWindow": "5", "MaximumConcurrency": "7", "LogLevel": "INFO", "OldestMessageSeconds": "120", "MaxReceiveCount": "6"}
	deploy := append([]string{"deploy", "--config-env", "dev", "--parameter-overrides"}, set.list()...)
	d.sam(ctx, nil, deploy...)
	d.expect(ctx, "orders-dev", "UPDATE_COMPLETE", set)
	before := d.resolved()
	d.sam(ctx, nil, deploy...)
	if after := d.resolved(); len(after) != len(before) {
		must.Failf("the same again changes something")
	}
	fmt.Println("an update changes what it names, the same again changes nothing")
}

func fifo(ctx context.Context, d *deployer) {
	set := parameters{"Fifo": "true", "BatchWindow": "20", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:pager", "Idempotency": "true"}
	d.sam(ctx, nil, append([]string{"deploy", "--config-env", "dev", "--stack-name", "orders-fifo", "--parameter-overrides"}, set.list()...)...)
	d.expect(ctx, "orders-fifo", "CREATE_COMPLETE", set)
}

// guided answers the questions of --guided, Enter wherever there is a default:
// as README.md says it, and without samconfig.toml, as a new project starts.
func guided(ctx context.Context, d *deployer) {
	g := *d
	g.source = filepath.Join(d.stage.Tmp, "guided")
	must.Do(samcli.Copy(ctx, d.stage, g.source, ""))
	g.sam(ctx, nil, "build")
	for _, stack := range []string{"orders-readme", "orders-guided"} {
		a := &answers{to: map[string]string{"Stack Name": stack}}
		g.sam(ctx, a, "deploy", "--guided")
		d.expect(ctx, stack, "CREATE_COMPLETE", parameters{})
		if stack == "orders-readme" {
			must.Do(os.Remove(filepath.Join(g.source, "samconfig.toml"))) // with what was saved
		}
	}
	// What it saved is enough for the next time.
	again := append([]string{"deploy", "--parameter-overrides"}, parameters{"MaximumConcurrency": "3"}.list()...)
	g.sam(ctx, &answers{}, again...)
	d.expect(ctx, "orders-guided", "UPDATE_COMPLETE", parameters{"MaximumConcurrency": "3"})
}

// deleteAll leaves nothing of any stack.
func deleteAll(ctx context.Context, d *deployer) {
	for _, stack := range []string{"orders", "orders-dev", "orders-prod", "orders-fifo", "orders-readme", "orders-guided"} {
		d.sam(ctx, nil, "delete", "--stack-name", stack, "--region", "us-east-1", "--no-prompts")
		var left object
		if d.ask(ctx, &left, stack); len(left) > 0 {
			must.Failf("after sam delete there is still %s: %s", stack, left["Status"])
		}
	}
	var left map[string][]string // of any stack, by kind
	d.ask(ctx, &left)
	for kind, names := range left {
		if len(names) > 0 {
			must.Failf("%s are left: %v", kind, names)
		}
	}
	fmt.Println("sam delete leaves nothing of six stacks")
}
