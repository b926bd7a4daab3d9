package samdeploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
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

// ask has the script describe a stack into a state; without a stack, what there is of any.
func (d *deployer) ask(ctx context.Context, into any, stack ...string) {
	cmd := d.cli.Python(ctx, append([]string{filepath.Join(d.stage.Root, "test", "integration", "samdeploy", "python", "describe.py")}, stack...)...)
	cmd.Env = d.environ()
	must.Do(json.Unmarshal([]byte(must.Get(d.stage.Log.Run(cmd))), into))
}

// A resource is one with its properties, as CloudFormation asks for it.
type resource struct {
	Stack, Resource string
	Properties      map[string]any
}

// resolved are the resources that were made and changed, in order.
func (d *deployer) resolved() (all []resource) {
	content, err := os.ReadFile(d.changes)
	if !errors.Is(err, os.ErrNotExist) {
		must.Do(err)
	}
	for line := range bytes.Lines(content) {
		var r resource
		must.Do(json.Unmarshal(line, &r))
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
