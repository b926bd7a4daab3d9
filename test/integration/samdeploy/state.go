package samdeploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A state is what there is of a stack, by the services' APIs.
type state struct {
	Status     string
	Parameters map[string]string
	Outputs    map[string]string
	Queues     map[string]map[string]string
	Alarms     map[string]alarm
	Functions  map[string]struct {
		FunctionName, Handler, Runtime string
		Timeout, MemorySize, CodeSize  int
		Environment                    struct{ Variables map[string]any }
	}
	Mappings map[string]struct {
		EventSourceArn, FunctionArn, State string
		BatchSize                          int
		MaximumBatchingWindowInSeconds     *int
		FunctionResponseTypes              []string
		ScalingConfig                      struct{ MaximumConcurrency int }
	}
	Roles map[string]struct {
		Attached []string
		Policies []any
	}
	Logs map[string]struct {
		LogGroupName    string `json:"logGroupName"`
		RetentionInDays int    `json:"retentionInDays"`
	}
}

type alarm struct {
	Namespace, MetricName, Statistic, ComparisonOperator, TreatMissingData string
	Dimensions                                                             []struct{ Name, Value string }
	Period, EvaluationPeriods, DatapointsToAlarm                           int
	Threshold                                                              float64
	AlarmActions                                                           []string
}

func (d *deployer) describe(ctx context.Context, stack string) (state, error) {
	var s state
	return s, d.ask(ctx, &s, stack)
}

// left is what there is of any stack, by kind.
func (d *deployer) left(ctx context.Context) (map[string][]string, error) {
	var l map[string][]string
	return l, d.ask(ctx, &l)
}

func (d *deployer) ask(ctx context.Context, into any, args ...string) error {
	cmd := d.cli.Python(ctx, append([]string{filepath.Join(d.stage.Root, "test", "integration", "samdeploy", "python", "describe.py")}, args...)...)
	cmd.Env = d.environ()
	out, err := d.stage.Log.Run(cmd)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

// A resource is one with its properties, as CloudFormation asks for it.
type resource struct {
	Stack, Resource string
	Properties      map[string]any
}

// resolved are the resources that were made and changed, in order.
func (d *deployer) resolved() ([]resource, error) {
	content, err := os.ReadFile(d.changes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var all []resource
	for line := range bytes.Lines(content) {
		var r resource
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// property is the latest value of a resource's property.
func (d *deployer) property(stack, logicalID, name string) (any, error) {
	all, err := d.resolved()
	if err != nil {
		return nil, err
	}
	var found any
	for _, r := range all {
		if r.Stack == stack && r.Resource == logicalID {
			found = r.Properties[name]
		}
	}
	return found, nil
}
