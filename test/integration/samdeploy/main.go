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
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	d, err := newDeployer(ctx, s)
	if err != nil {
		return err
	}
	defer d.server.Stop()
	if err := d.sam(ctx, nil, "build"); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		run  func(context.Context, *deployer) error
	}{
		{"the environments of samconfig.toml", environments},
		{"an update", update},
		{"FIFO queues and a topic", fifo},
		{"sam deploy --guided", guided},
		{"sam delete", deleteAll},
	} {
		if err := step.run(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// environments deploys each of them as samconfig.toml says.
func environments(ctx context.Context, d *deployer) error {
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
		if err := d.sam(ctx, a, "deploy", "--config-env", e.name); err != nil {
			return err
		}
		if a.confirmed != e.confirm {
			return fmt.Errorf("environment %s: asked before deploying: %v, want %v", e.name, a.confirmed, e.confirm)
		}
		if err := d.expect(ctx, e.stack, "CREATE_COMPLETE", e.set); err != nil {
			return fmt.Errorf("environment %s: %w", e.name, err)
		}
	}
	return nil
}

// update changes parameters of a stack; others keep their values. A deployment of
// what stands already changes nothing and fails nothing.
func update(ctx context.Context, d *deployer) error {
	set := parameters{"FunctionTimeout": "60", "BatchSize": "50", "BatchWindow": "5", "MaximumConcurrency": "7", "LogLevel": "INFO", "OldestMessageSeconds": "120", "MaxReceiveCount": "6"}
	deploy := append([]string{"deploy", "--config-env", "dev", "--parameter-overrides"}, set.list()...)
	if err := d.sam(ctx, nil, deploy...); err != nil {
		return err
	}
	if err := d.expect(ctx, "orders-dev", "UPDATE_COMPLETE", set); err != nil {
		return err
	}
	before, err := d.resolved()
	if err != nil {
		return err
	}
	if err := d.sam(ctx, nil, deploy...); err != nil {
		return fmt.Errorf("the same again: %w", err)
	}
	after, err := d.resolved()
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		return errors.New("the same again changes something")
	}
	fmt.Println("an update changes what it names, the same again changes nothing")
	return nil
}

func fifo(ctx context.Context, d *deployer) error {
	set := parameters{"Fifo": "true", "BatchWindow": "20", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:pager", "Idempotency": "true"}
	if err := d.sam(ctx, nil, append([]string{"deploy", "--config-env", "dev", "--stack-name", "orders-fifo", "--parameter-overrides"}, set.list()...)...); err != nil {
		return err
	}
	return d.expect(ctx, "orders-fifo", "CREATE_COMPLETE", set)
}

// guided answers the questions of --guided, Enter wherever there is a default:
// as README.md says it, and for who starts from nothing, without samconfig.toml.
func guided(ctx context.Context, d *deployer) error {
	g := *d
	g.source = filepath.Join(d.stage.Tmp, "guided")
	if err := samcli.Copy(ctx, d.stage, g.source, ""); err != nil {
		return err
	}
	if err := g.sam(ctx, nil, "build"); err != nil {
		return err
	}
	for _, stack := range []string{"orders-readme", "orders-guided"} {
		a := &answers{to: map[string]string{"Stack Name": stack}}
		if err := g.sam(ctx, a, "deploy", "--guided"); err != nil {
			return err
		}
		if err := d.expect(ctx, stack, "CREATE_COMPLETE", parameters{}); err != nil {
			return err
		}
		if stack == "orders-readme" {
			if err := os.Remove(filepath.Join(g.source, "samconfig.toml")); err != nil { // with what was saved
				return err
			}
		}
	}
	// What it saved is enough for the next time.
	again := append([]string{"deploy", "--parameter-overrides"}, parameters{"MaximumConcurrency": "3"}.list()...)
	if err := g.sam(ctx, &answers{}, again...); err != nil {
		return fmt.Errorf("with what --guided saved: %w", err)
	}
	return d.expect(ctx, "orders-guided", "UPDATE_COMPLETE", parameters{"MaximumConcurrency": "3"})
}

// deleteAll leaves nothing of any stack.
func deleteAll(ctx context.Context, d *deployer) error {
	for _, stack := range []string{"orders", "orders-dev", "orders-prod", "orders-fifo", "orders-readme", "orders-guided"} {
		if err := d.sam(ctx, nil, "delete", "--stack-name", stack, "--region", "us-east-1", "--no-prompts"); err != nil {
			return err
		}
		if left, err := d.describe(ctx, stack); err != nil || left.Status != "" {
			return fmt.Errorf("after sam delete there is still %s: %s (%v)", stack, left.Status, err)
		}
	}
	left, err := d.left(ctx)
	if err != nil {
		return err
	}
	for kind, names := range left {
		if len(names) > 0 {
			return fmt.Errorf("%s are left: %v", kind, names)
		}
	}
	fmt.Println("sam delete leaves nothing of six stacks")
	return nil
}
