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
	var got object
	d.ask(ctx, &got, stack)
	got["Resolved"] = object{
		"RedriveAllowPolicy": d.property(stack, "OrdersDeadLetterQueue", "RedriveAllowPolicy"),
		"LoggingConfig":      d.property(stack, "OrdersFunction", "LoggingConfig"),
		"Architectures":      d.property(stack, "OrdersFunction", "Architectures"),
	}
	want := wish{stack, p}.all(got)
	want["Status"] = status
	if size, _ := at(got, "Functions", "OrdersFunction", "CodeSize").(float64); size < 1e6 {
		must.Failf("%s: the function's code is %v bytes", stack, size)
	}
	must.Do(errors.Join(compare(stack, got, want)...))
	fmt.Printf("%-14s %s, as its parameters ask for: %s\n", stack, status, strings.Join(set.list(), " "))
}

// A wish is what a stack's parameters ask for.
type wish struct {
	stack string
	parameters
}

func (w wish) is(name string) bool { return w.parameters[name] == "true" }

func (w wish) number(name string) int { return must.Get(strconv.Atoi(w.parameters[name])) }

func (w wish) queue(name string) string {
	if w.is("Fifo") {
		name += ".fifo"
	}
	return w.stack + "-" + name
}

func (w wish) queueARN(name string) string { return fmt.Sprintf(arn, "sqs") + w.queue(name) }

func (w wish) queues() object {
	source := object{
		"QueueArn": w.queueARN("orders"), "SqsManagedSseEnabled": "true", "MessageRetentionPeriod": "345600", "FifoQueue": nil,
		"VisibilityTimeout": strconv.Itoa(6*w.number("FunctionTimeout") + w.number("BatchWindow")),
		"RedrivePolicy":     object{"deadLetterTargetArn": w.queueARN("orders-dead"), "maxReceiveCount": w.parameters["MaxReceiveCount"]},
	}
	dead := object{"QueueArn": w.queueARN("orders-dead"), "SqsManagedSseEnabled": "true", "MessageRetentionPeriod": "1209600", "FifoQueue": nil}
	if w.is("Fifo") {
		source["FifoQueue"], source["ContentBasedDeduplication"] = "true", "true"
		dead["FifoQueue"], dead["ContentBasedDeduplication"] = "true", "true"
	}
	return object{"OrdersQueue": source, "OrdersDeadLetterQueue": dead}
}

func (w wish) alarms() object {
	actions := []string{}
	if topic := w.parameters["AlarmTopicArn"]; topic != "" {
		actions = []string{topic}
	}
	alarm := func(metric, queue string, threshold, periods int, datapoints any) object {
		return object{
			"Namespace": "AWS/SQS", "Statistic": "Maximum", "Period": 60, "ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "notBreaching", "AlarmActions": actions,
			"MetricName": metric, "Threshold": threshold, "EvaluationPeriods": periods, "DatapointsToAlarm": datapoints,
			"Dimensions": []object{{"Name": "QueueName", "Value": w.queue(queue)}},
		}
	}
	return object{
		"DeadLettersAlarm":   alarm("ApproximateNumberOfMessagesVisible", "orders-dead", 0, 1, nil),
		"OldestMessageAlarm": alarm("ApproximateAgeOfOldestMessage", "orders", w.number("OldestMessageSeconds"), 5, 3),
	}
}

// all is what the stack must be. Of what is there it takes the names that CloudFormation makes.
func (w wish) all(got object) object {
	var window any = w.number("BatchWindow")
	if w.is("Fifo") { // has no window
		window = nil
	}
	variables := object{"SQSBATCH_DEAD_LETTER_QUEUE": w.queueARN("orders-dead"), "SQSBATCH_MAX_RECEIVE_COUNT": w.parameters["MaxReceiveCount"]}
	policies := 1
	if w.is("Idempotency") {
		policies = 2
		table, _ := at(got, "Functions", "OrdersFunction", "Environment", "Variables", "IDEMPOTENCY_TABLE").(string)
		variables["IDEMPOTENCY_TABLE"] = w.stack + "-IdempotencyTable-" + table[strings.LastIndexByte(table, '-')+1:]
	}
	return object{
		"Parameters": w.parameters,
		"Queues":     w.queues(),
		"Alarms":     w.alarms(),
		"Functions": object{"OrdersFunction": object{
			"Runtime": "provided.al2023", "Handler": "bootstrap", "Timeout": w.number("FunctionTimeout"), "MemorySize": w.number("MemorySize"),
			"Environment": object{"Variables": variables},
		}},
		"Mappings": object{"OrdersFunctionOrders": object{
			"EventSourceArn":                 w.queueARN("orders"),
			"FunctionArn":                    fmt.Sprint(fmt.Sprintf(arn, "lambda"), "function:", at(got, "Functions", "OrdersFunction", "FunctionName")),
			"BatchSize":                      w.number("BatchSize"),
			"FunctionResponseTypes":          []string{"ReportBatchItemFailures"},
			"ScalingConfig":                  object{"MaximumConcurrency": w.number("MaximumConcurrency")},
			"MaximumBatchingWindowInSeconds": window,
		}},
		"Roles": object{"OrdersFunctionRole": object{"Policies": policies, "Attached": []string{}}},
		"Logs":  object{"OrdersFunctionLogs": object{"retentionInDays": 30}},
		"Outputs": object{
			"QueueName": w.queue("orders"), "QueueArn": w.queueARN("orders"), "QueueUrl": at(got, "Outputs", "QueueUrl"), "FunctionName": at(got, "Outputs", "FunctionName"),
			"DeadLetterQueueName": w.queue("orders-dead"), "DeadLetterQueueArn": w.queueARN("orders-dead"), "DeadLetterQueueUrl": at(got, "Outputs", "DeadLetterQueueUrl"),
		},
		// What moto does not keep.
		"Resolved": object{
			"RedriveAllowPolicy": object{"redrivePermission": "byQueue", "sourceQueueArns": []string{w.queueARN("orders")}},
			"LoggingConfig":      object{"LogFormat": "JSON", "ApplicationLogLevel": w.parameters["LogLevel"], "LogGroup": at(got, "Logs", "OrdersFunctionLogs", "logGroupName")},
			"Architectures":      []string{"arm64"},
		},
	}
}

// compare says where a stack is not as wanted. It must have the wanted parameters, outputs and
// resources of each kind, and no others; but a resource has more properties than are wanted.
func compare(stack string, got, want object) (wrong []error) {
	must.Do(json.Unmarshal(must.Get(json.Marshal(want)), &want)) // so that numbers are float64, as in what is there
	exact := func(where string, got, want any) {
		g, _ := got.(object)
		w, _ := want.(object)
		if names, others := slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w)); !slices.Equal(names, others) {
			wrong = append(wrong, fmt.Errorf("%s: %s: got %v, want %v", stack, where, names, others))
		}
	}
	var properties func(where string, got, want any)
	properties = func(where string, got, want any) {
		w, isObject := want.(object)
		if !isObject && !reflect.DeepEqual(got, want) {
			wrong = append(wrong, fmt.Errorf("%s: %s: got %v, want %v", stack, where, got, want))
		}
		g, _ := got.(object)
		for name, value := range w {
			properties(where+"."+name, g[name], value)
		}
	}
	for kind, value := range want {
		exact(kind, got[kind], value)
		properties(kind, got[kind], value)
	}
	for _, path := range [][]string{
		{"Functions", "OrdersFunction", "Environment", "Variables"}, {"Resolved", "RedriveAllowPolicy"}, {"Resolved", "LoggingConfig"},
	} {
		exact(strings.Join(path, "."), at(got, path...), at(want, path...))
	}
	return wrong
}
