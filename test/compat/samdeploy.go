package main

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
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkSAMDeploy deploys this repository as a user does, with "sam deploy" and
// samconfig.toml, against moto's server in place of AWS, reads back what there
// is by the services' APIs, updates it, and deletes it again.
//
// It needs Python 3 with its venv module, and PyPI on the first use. moto does
// not run anything: that the function works is the business of samlocal and rie.
// What is missing in moto's CloudFormation for this stack is in moto_sam.py.
func checkSAMDeploy(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	d := newDeployer(ctx, s)
	defer d.server.Stop()
	d.sam(ctx, nil, "build")
	for _, step := range []struct {
		what string
		run  func(context.Context, *deployer)
	}{
		{"the environments of samconfig.toml", deployEnvironments},
		{"an update", deployUpdate},
		{"FIFO queues and a topic", deployFIFO},
		{"sam deploy --guided", deployGuided},
		{"sam delete", deleteAll},
	} {
		if err := must.Run(func() { step.run(ctx, d) }); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// deployEnvironments deploys each of them as samconfig.toml says.
func deployEnvironments(ctx context.Context, d *deployer) {
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

// deployUpdate changes parameters of a stack; others keep their values. A deployment of
// what stands already changes nothing and fails nothing.
func deployUpdate(ctx context.Context, d *deployer) {
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

func deployFIFO(ctx context.Context, d *deployer) {
	set := parameters{"Fifo": "true", "BatchWindow": "20", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:pager", "Idempotency": "true"}
	d.sam(ctx, nil, append([]string{"deploy", "--config-env", "dev", "--stack-name", "orders-fifo", "--parameter-overrides"}, set.list()...)...)
	d.expect(ctx, "orders-fifo", "CREATE_COMPLETE", set)
}

// deployGuided answers the questions of --guided, Enter wherever there is a default:
// as README.md says it, and without samconfig.toml, as a new project starts.
func deployGuided(ctx context.Context, d *deployer) {
	g := *d
	g.source = filepath.Join(d.stage.Tmp, "guided")
	must.Do(tools.CopyRepository(ctx, d.stage, g.source, ""))
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

type parameters map[string]string

func (p parameters) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		list = append(list, name+"="+p[name])
	}
	return list
}

type deployer struct {
	stage   *tools.Stage
	cli     *tools.SAM
	server  *tools.Moto
	changes string // the file with what properties have come to
	source  string
}

func newDeployer(ctx context.Context, s *tools.Stage) *deployer {
	sam := must.Get(tools.InstallSAM(ctx))
	d := &deployer{stage: s, cli: sam, source: filepath.Join(s.Tmp, "source"), changes: filepath.Join(s.Tmp, "resolved")}
	must.Do(tools.CopyRepository(ctx, s, d.source, ""))
	d.server = must.Get(tools.StartMoto(ctx, s, sam, programs+"/moto_sam.py", d.changes))
	return d
}

// environ is a user's with an account.
func (d *deployer) environ() []string {
	return tools.Environment("AWS_ENDPOINT_URL="+d.server.URL, "SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=0.2", "PYTHONUNBUFFERED=1")
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

// ask has describe.py say what there is of a stack, by the services' APIs; without a
// stack, what there is of any.
func (d *deployer) ask(ctx context.Context, into any, stack ...string) {
	cmd := d.cli.Python(ctx, append([]string{filepath.Join(d.stage.Root, programs, "describe.py")}, stack...)...)
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
