package samdeploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// defaults are those of template.yaml's parameters.
var defaults = parameters{
	"Fifo": "false", "FunctionTimeout": "10", "MemorySize": "256", "BatchSize": "10", "BatchWindow": "0", "MaximumConcurrency": "10",
	"MaxReceiveCount": "5", "Idempotency": "false", "LogLevel": "INFO", "OldestMessageSeconds": "1800", "AlarmTopicArn": "",
}

// arn is how an ARN of the stand-in's account begins.
const arn = "arn:aws:%s:us-east-1:123456789012:"

// expect compares a stack with what its parameters ask for.
func (d *deployer) expect(ctx context.Context, stack, status string, set parameters) {
	p := maps.Clone(defaults)
	maps.Copy(p, set)
	var s state
	d.ask(ctx, &s, stack)
	c := &comparison{stack: stack, parameters: p, state: s}
	c.equal("status", s.Status, status)
	c.equal("parameters", s.Parameters, map[string]string(p))
	c.queues()
	c.alarms()
	c.function()
	c.mapping()
	c.rest()
	for _, r := range []struct{ resource, property string }{
		{"OrdersDeadLetterQueue", "RedriveAllowPolicy"}, {"OrdersFunction", "LoggingConfig"}, {"OrdersFunction", "Architectures"},
	} {
		c.equal(r.resource+"'s "+r.property, d.property(stack, r.resource, r.property), c.property(r.property))
	}
	if err := errors.Join(c.wrong...); err != nil {
		must.Failf("%s: %w", stack, err)
	}
	fmt.Printf("%-14s %s, as its parameters ask for: %s\n", stack, s.Status, strings.Join(set.list(), " "))
}

// A comparison collects what differs.
type comparison struct {
	stack      string
	parameters parameters
	state      state
	wrong      []error
}

func (c *comparison) equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		c.wrong = append(c.wrong, fmt.Errorf("%s: got %v, want %v", what, got, want))
	}
}

func (c *comparison) number(name string) int {
	n, err := strconv.Atoi(c.parameters[name])
	if err != nil {
		c.wrong = append(c.wrong, fmt.Errorf("%s: %w", name, err))
	}
	return n
}

func (c *comparison) fifo() bool { return c.parameters["Fifo"] == "true" }

func (c *comparison) queue(name string) string {
	if c.fifo() {
		name += ".fifo"
	}
	return c.stack + "-" + name
}

func (c *comparison) idempotent() bool { return c.parameters["Idempotency"] == "true" }

func (c *comparison) queueARN(name string) string { return fmt.Sprintf(arn, "sqs") + c.queue(name) }

// property is what moto does not keep.
func (c *comparison) property(name string) any {
	return map[string]any{
		"RedriveAllowPolicy": map[string]any{"redrivePermission": "byQueue", "sourceQueueArns": []any{c.queueARN("orders")}},
		"LoggingConfig":      map[string]any{"LogFormat": "JSON", "ApplicationLogLevel": c.parameters["LogLevel"], "LogGroup": c.state.Logs["OrdersFunctionLogs"].LogGroupName},
		"Architectures":      []any{"arm64"},
	}[name]
}

func (c *comparison) queues() {
	source, dead := c.state.Queues["OrdersQueue"], c.state.Queues["OrdersDeadLetterQueue"]
	c.equal("queues", slices.Sorted(maps.Keys(c.state.Queues)), []string{"OrdersDeadLetterQueue", "OrdersQueue"})
	window := c.number("BatchWindow")
	for _, q := range []struct {
		what, name string
		got        map[string]string
		want       map[string]string
	}{
		{"queue", "orders", source, map[string]string{"VisibilityTimeout": strconv.Itoa(6*c.number("FunctionTimeout") + window), "MessageRetentionPeriod": "345600"}},
		{"dead-letter queue", "orders-dead", dead, map[string]string{"MessageRetentionPeriod": "1209600"}},
	} {
		q.want["QueueArn"], q.want["SqsManagedSseEnabled"] = c.queueARN(q.name), "true"
		if c.fifo() {
			q.want["FifoQueue"], q.want["ContentBasedDeduplication"] = "true", "true"
		}
		for name, want := range q.want {
			c.equal(q.what+"'s "+name, q.got[name], want)
		}
		if _, is := q.got["FifoQueue"]; is != c.fifo() {
			c.equal(q.what+" is FIFO", is, c.fifo())
		}
	}
	var redrive map[string]any
	if err := json.Unmarshal([]byte(source["RedrivePolicy"]), &redrive); err != nil {
		c.wrong = append(c.wrong, fmt.Errorf("RedrivePolicy %q: %w", source["RedrivePolicy"], err))
	}
	c.equal("deadLetterTargetArn", redrive["deadLetterTargetArn"], dead["QueueArn"])
	c.equal("maxReceiveCount", fmt.Sprint(redrive["maxReceiveCount"]), c.parameters["MaxReceiveCount"])
}

func (c *comparison) alarms() {
	actions := []string{}
	if topic := c.parameters["AlarmTopicArn"]; topic != "" {
		actions = []string{topic}
	}
	sqs := alarm{
		Namespace: "AWS/SQS", Statistic: "Maximum", Period: 60, ComparisonOperator: "GreaterThanThreshold", TreatMissingData: "notBreaching", AlarmActions: actions,
	}
	of := func(metric, queue string, threshold float64, periods, datapoints int) alarm {
		a := sqs
		a.MetricName, a.Threshold, a.EvaluationPeriods, a.DatapointsToAlarm = metric, threshold, periods, datapoints
		a.Dimensions = []struct{ Name, Value string }{{"QueueName", c.queue(queue)}}
		return a
	}
	c.equal("alarms", c.state.Alarms, map[string]alarm{
		"DeadLettersAlarm":   of("ApproximateNumberOfMessagesVisible", "orders-dead", 0, 1, 0),
		"OldestMessageAlarm": of("ApproximateAgeOfOldestMessage", "orders", float64(c.number("OldestMessageSeconds")), 5, 3),
	})
}

func (c *comparison) function() {
	f := c.state.Functions["OrdersFunction"]
	c.equal("functions", len(c.state.Functions), 1)
	c.equal("Runtime", f.Runtime+" "+f.Handler, "provided.al2023 bootstrap")
	c.equal("Timeout", f.Timeout, c.number("FunctionTimeout"))
	c.equal("MemorySize", f.MemorySize, c.number("MemorySize"))
	variables := map[string]string{}
	for name, value := range f.Environment.Variables {
		variables[name] = fmt.Sprint(value)
	}
	want := map[string]string{
		"SQSBATCH_DEAD_LETTER_QUEUE": c.queueARN("orders-dead"), "SQSBATCH_MAX_RECEIVE_COUNT": c.parameters["MaxReceiveCount"],
	}
	if table := variables["IDEMPOTENCY_TABLE"]; c.idempotent() && strings.HasPrefix(table, c.stack+"-IdempotencyTable-") {
		want["IDEMPOTENCY_TABLE"] = table
	}
	c.equal("environment", variables, want)
	if f.CodeSize < 1e6 {
		c.wrong = append(c.wrong, fmt.Errorf("the function's code is %d bytes", f.CodeSize))
	}
}

func (c *comparison) mapping() {
	m := c.state.Mappings["OrdersFunctionOrders"]
	c.equal("mappings", len(c.state.Mappings), 1)
	c.equal("EventSourceArn", m.EventSourceArn, c.queueARN("orders"))
	c.equal("FunctionArn", m.FunctionArn, fmt.Sprintf(arn, "lambda")+"function:"+c.state.Functions["OrdersFunction"].FunctionName)
	c.equal("BatchSize", m.BatchSize, c.number("BatchSize"))
	c.equal("FunctionResponseTypes", m.FunctionResponseTypes, []string{"ReportBatchItemFailures"})
	c.equal("MaximumConcurrency", m.ScalingConfig.MaximumConcurrency, c.number("MaximumConcurrency"))
	window := c.number("BatchWindow")
	if c.fifo() { // has no window
		c.equal("MaximumBatchingWindowInSeconds", m.MaximumBatchingWindowInSeconds, (*int)(nil))
	} else {
		c.equal("MaximumBatchingWindowInSeconds", m.MaximumBatchingWindowInSeconds, &window)
	}
}

func (c *comparison) rest() {
	role := c.state.Roles["OrdersFunctionRole"]
	policies := 1
	if c.idempotent() {
		policies = 2
	}
	c.equal("roles, policies and managed ones", []int{len(c.state.Roles), len(role.Policies), len(role.Attached)}, []int{1, policies, 0})
	c.equal("log groups", len(c.state.Logs), 1)
	c.equal("log retention", c.state.Logs["OrdersFunctionLogs"].RetentionInDays, 30)
	c.equal("outputs", slices.Sorted(maps.Keys(c.state.Outputs)), []string{"DeadLetterQueueArn", "DeadLetterQueueName", "DeadLetterQueueUrl", "FunctionName", "QueueArn", "QueueName", "QueueUrl"})
	c.equal("output QueueName", c.state.Outputs["QueueName"], c.queue("orders"))
	c.equal("output DeadLetterQueueName", c.state.Outputs["DeadLetterQueueName"], c.queue("orders-dead"))
	c.equal("output QueueArn", c.state.Outputs["QueueArn"], c.queueARN("orders"))
	c.equal("output DeadLetterQueueArn", c.state.Outputs["DeadLetterQueueArn"], c.queueARN("orders-dead"))
}
