package deploy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// The module deploy/terraform has the settings of template.yaml. Only Terraform can say what its configuration comes to, and
// the AWS provider has defaults of its own, so testdata/terraform.json is what Terraform has made of it against a
// stand-in for AWS (go run ./test/compat terraform -update). That needs Terraform, and these tests do not. The file has a hash of
// the configuration, so a change of that without a new file fails as well.

var update = flag.Bool("update", false, "write the variables of deploy/terraform into docs/deploying/terraform.md")

const tfPage = "../docs/deploying/terraform.md"

type deployment struct {
	Variables map[string]string
	Resources map[string]map[string]any
	Outputs   map[string]any
}

func deployments(t *testing.T) []deployment {
	t.Helper()
	var file struct {
		Files       string
		Deployments []deployment
	}
	d := json.NewDecoder(strings.NewReader(docpage.Read(t, "testdata/terraform.json")))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if hash, err := docpage.HashTerraform("terraform"); err != nil || hash != file.Files {
		t.Fatalf("testdata/terraform.json is of other files than terraform/*.tf: go run ./test/compat terraform -update (%v)", err)
	}
	return file.Deployments
}

// names says what the attributes of a resource are in template.yaml: the property, or an expression that they
// must be equal to. Attributes without an entry are called as their property is: alarm_actions, AlarmActions.
var names = map[string]struct {
	resource   string
	attributes map[string]string
}{
	"aws_sqs_queue.queue":                                  {"OrdersQueue", queueNames},
	"aws_sqs_queue.dead_letter_queue":                      {"OrdersDeadLetterQueue", queueNames},
	"aws_sqs_queue_redrive_allow_policy.dead_letter_queue": {"OrdersDeadLetterQueue", map[string]string{"queue_url": "=Ref OrdersDeadLetterQueue"}},
	"aws_sqs_queue_policy.queue":                           {"TLSOnly", map[string]string{"queue_url": "Queues", "policy": "PolicyDocument"}},
	"aws_sqs_queue_policy.dead_letter_queue":               {"TLSOnly", map[string]string{"queue_url": "Queues", "policy": "PolicyDocument"}},
	"aws_lambda_function.function":                         {"OrdersFunction", map[string]string{"function_name": "=Ref OrdersFunction"}},
	"aws_lambda_event_source_mapping.queue": {"OrdersFunction.Events.Orders.Properties", map[string]string{
		"event_source_arn": "Queue", "function_name": "=GetAtt OrdersFunction.Arn", "maximum_batching_window_in_seconds": "MaximumBatchingWindowInSeconds"}},
	"aws_iam_role.function":                      {"OrdersFunctionRole", map[string]string{"name": "=Ref OrdersFunctionRole", "assume_role_policy": "AssumeRolePolicyDocument"}},
	"aws_iam_role_policy.function":               {"OrdersFunctionRole.Policies", map[string]string{"role": "=Ref OrdersFunctionRole", "name": "PolicyName", "policy": "PolicyDocument"}},
	"aws_cloudwatch_log_group.function":          {"OrdersFunctionLogs", map[string]string{"name": "=Ref OrdersFunctionLogs"}},
	"aws_cloudwatch_metric_alarm.dead_letters":   {"DeadLettersAlarm", map[string]string{"alarm_name": "=Ref DeadLettersAlarm"}},
	"aws_cloudwatch_metric_alarm.oldest_message": {"OldestMessageAlarm", map[string]string{"alarm_name": "=Ref OldestMessageAlarm"}},
}

var queueNames = map[string]string{"name": "QueueName", "visibility_timeout_seconds": "VisibilityTimeout", "message_retention_seconds": "MessageRetentionPeriod"}

// example replaces what template.yaml says of its example.
var example = strings.NewReplacer("Orders wait", "Messages wait")

func TestTerraform_HasTheSettingsOfTheTemplate(t *testing.T) {
	for _, d := range deployments(t) {
		t.Run(d.Variables["name"], func(t *testing.T) {
			s := &samStack{t: t, name: strings.TrimSuffix(d.Variables["name"], "-orders"), queue: d.Variables["name"], template: load(t, "../template.yaml"), parameters: map[string]any{}}
			for name, p := range at(t, s.template, "Parameters").(map[string]any) {
				s.parameters[name] = p.(map[string]any)["Default"]
				if v, ok := d.Variables[snake(name)]; ok {
					s.parameters[name] = v
				}
			}
			got, want := flat{}, flat{}
			for name, r := range at(t, s.template, "Resources").(map[string]any) {
				if condition, ok := r.(map[string]any)["Condition"]; ok && s.eval(map[string]any{"Condition": condition}) == "false" {
					continue
				}
				want.add(name, s.eval(r.(map[string]any)["Properties"]))
			}
			want["OrdersFunctionRole.Policies.PolicyName"] = "queue" // not the example's
			delete(want, "OrdersFunction.CodeUri")
			delete(want, "OrdersFunction.Events.Orders.Type")
			maps.DeleteFunc(want, func(path, v string) bool {
				return strings.HasSuffix(path, ".MaximumBatchingWindowInSeconds") && v == "0"
			})
			for address, attributes := range d.Resources {
				to, ok := names[address]
				if !ok {
					t.Errorf("the template has no %s", address)
				}
				for attribute, v := range attributes {
					path, ok := to.attributes[attribute]
					if expression, isEqual := strings.CutPrefix(path, "="); isEqual {
						kind, name, _ := strings.Cut(expression, " ")
						if want := s.eval(map[string]any{kind: name}); v != want {
							t.Errorf("%s.%s is %v, want %v", address, attribute, v, want)
						}
						continue
					}
					if !ok {
						path = camel(attribute)
					}
					if !isDefault(attribute, v) {
						got.add(to.resource+"."+path, block(v))
					}
				}
			}
			got.compare(t, want)
			outputs := map[string]any{}
			for name, o := range at(t, s.template, "Outputs").(map[string]any) {
				outputs[snake(name)] = s.eval(o.(map[string]any)["Value"])
			}
			if !maps.Equal(d.Outputs, outputs) {
				t.Errorf("outputs are\n%v\nthe template's\n%v", d.Outputs, outputs)
			}
		})
	}
}

// isDefault reports whether an attribute has the value that it has without being set.
func isDefault(attribute string, v any) bool {
	return attribute == "enabled" && v == true || (attribute == "fifo_queue" || attribute == "content_based_deduplication") && v == false ||
		attribute == "kms_data_key_reuse_period_seconds" && fmt.Sprint(v) == "300" ||
		attribute == "maximum_batching_window_in_seconds" && fmt.Sprint(v) == "0" || (attribute == "tags" || attribute == "alarm_actions") && len(fmt.Sprint(v)) <= len("map[]")
}

func snake(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
}

func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// block is a value of Terraform's as a template has it: names of attributes in blocks, JSON as what it says, dimensions as
// a list.
func block(v any) any {
	switch v := v.(type) {
	case string:
		var inner any
		d := json.NewDecoder(strings.NewReader(v))
		d.UseNumber()
		if strings.HasPrefix(v, "{") && d.Decode(&inner) == nil {
			return inner
		}
	case map[string]any:
		if name, ok := v["QueueName"]; ok {
			return map[string]any{"Name": "QueueName", "Value": name}
		}
		m := map[string]any{}
		for name, value := range v {
			if name == strings.ToLower(name) {
				name = camel(name)
			}
			if value != nil && value != "" {
				m[name] = block(value)
			}
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, block(item))
		}
		return list
	}
	return v
}

// flat has values by their paths.
type flat map[string]string

// add adds a value. The order of lists means nothing, and a list of one is as good as what is in it.
func (s flat) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			s.add(path+"."+name, value)
		}
	case []any:
		for _, item := range v {
			to := path
			if statement, ok := item.(map[string]any); ok && statement["Sid"] != nil {
				to += "." + statement["Sid"].(string)
			}
			s.add(to, item)
		}
	case nil:
	default:
		list := append(strings.FieldsFunc(s[path], func(r rune) bool { return r == '\n' }), fmt.Sprint(v))
		slices.Sort(list)
		s[path] = strings.Join(slices.Compact(list), "\n")
	}
}

func (s flat) compare(t *testing.T, want flat) {
	t.Helper()
	all := maps.Clone(s)
	maps.Copy(all, want)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if s[path] != want[path] {
			t.Errorf("%s: the module has %q, the template %q", path, s[path], want[path])
		}
	}
	if len(want) < 60 {
		t.Errorf("only %d settings were compared", len(want))
	}
}

// A samStack is template.yaml with values of its parameters.
type samStack struct {
	t           *testing.T
	name, queue string // queue is the name of the module
	template    map[string]any
	parameters  map[string]any
}

const account = "us-east-1:123456789012:"

// ref is what a Ref or the Arn of a resource is. Names that CloudFormation makes are those of the module.
func (s *samStack) ref(name string) (ref, arn string) {
	made := map[string]string{"OrdersFunction": s.queue, "OrdersFunctionRole": s.queue, "OrdersFunctionLogs": "/aws/lambda/" + s.queue,
		"DeadLettersAlarm": s.queue + "-dead-letters", "OldestMessageAlarm": s.queue + "-oldest-message"}[name]
	switch kind := at(s.t, s.template, "Resources", name, "Type").(string); kind {
	case "AWS::SQS::Queue":
		queue := fmt.Sprint(s.eval(at(s.t, s.template, "Resources", name, "Properties", "QueueName")))
		return "https://sqs.us-east-1.amazonaws.com/123456789012/" + queue, "arn:aws:sqs:" + account + queue
	case "AWS::Serverless::Function":
		return made, "arn:aws:lambda:" + account + "function:" + made
	case "AWS::IAM::Role":
		return made, "arn:aws:iam::123456789012:role/" + made
	case "AWS::Logs::LogGroup":
		return made, "arn:aws:logs:" + account + "log-group:" + made + ":*"
	}
	return made, ""
}

// eval returns a value without functions, nil for AWS::NoValue.
func (s *samStack) eval(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			if item = s.eval(item); item != nil {
				list = append(list, item)
			}
		}
		return list
	case map[string]any:
		for name, argument := range v {
			if f := s.function(name, argument); len(v) == 1 && f != nil {
				return f()
			}
		}
		m := map[string]any{}
		for name, value := range v {
			m[name] = s.eval(value)
		}
		return m
	case string:
		return example.Replace(v)
	}
	return v
}

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

// function returns an intrinsic function by its name, nil without one.
func (s *samStack) function(name string, argument any) func() any {
	list, _ := argument.([]any)
	text, _ := argument.(string)
	switch name {
	case "Ref":
		return func() any {
			if v, ok := map[string]any{"AWS::NoValue": nil, "AWS::AccountId": "123456789012", "AWS::Region": "us-east-1", "AWS::Partition": "aws", "AWS::StackName": s.name}[text]; ok {
				return v
			}
			if v, ok := s.parameters[text]; ok {
				return v
			}
			ref, _ := s.ref(text)
			return ref
		}
	case "GetAtt":
		return func() any {
			name, attribute, _ := strings.Cut(text, ".")
			ref, arn := s.ref(name)
			if attribute == "QueueName" {
				return ref[strings.LastIndexByte(ref, '/')+1:]
			}
			return arn
		}
	case "Sub":
		return func() any {
			return variable.ReplaceAllStringFunc(text, func(v string) string { return fmt.Sprint(s.function("Ref", v[2:len(v)-1])()) })
		}
	case "If":
		return func() any {
			if s.function("Condition", list[0])() == "true" {
				return s.eval(list[1])
			}
			return s.eval(list[2])
		}
	case "Condition":
		return func() any { return s.eval(at(s.t, s.template, "Conditions", text)) }
	case "Equals":
		return func() any { return strconv.FormatBool(s.eval(list[0]) == s.eval(list[1])) }
	case "Not":
		return func() any { return strconv.FormatBool(s.eval(list[0]) != "true") }
	case "FindInMap":
		return func() any {
			return at(s.t, s.template, "Mappings", list[0].(string), s.eval(list[1]).(string), s.eval(list[2]).(string))
		}
	}
	return nil
}

// A tfVariable is one of variables.tf.
type tfVariable struct{ name, kind, def, description, condition string }

var (
	variableBlock = regexp.MustCompile(`(?ms)^variable "(\w+)" \{\n(.*?)^\}`)
	argument      = regexp.MustCompile(`(?m)^ +(type|default|description|condition) += (.*)$`)
	bounds        = regexp.MustCompile(`^var\.(\w+) >= (\d+)(?: && var\.\w+ <= (\d+))?$`)
	choices       = regexp.MustCompile(`^contains\(\[(.*)\], var\.(\w+)\)$`)
)

func tfVariables(t *testing.T) (list []tfVariable) {
	t.Helper()
	for _, m := range variableBlock.FindAllStringSubmatch(docpage.Read(t, "terraform/variables.tf"), -1) {
		set := map[string]string{}
		for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
			set[a[1]] = a[2]
		}
		description, err := strconv.Unquote(set["description"])
		if err != nil || set["type"] == "" {
			t.Errorf("variable %s has no type or no description: %v", m[1], err)
		}
		list = append(list, tfVariable{m[1], set["type"], set["default"], description, set["condition"]})
	}
	return list
}

// Each parameter but Idempotency is a variable with the same default and bounds. Of AllowedValues that are numbers, the bounds are the first
// and the last: CloudFormation cannot multiply, so template.yaml has a table of visibility timeouts.
func TestTerraform_HasTheParametersOfTheTemplate(t *testing.T) {
	variables := map[string]tfVariable{}
	for _, v := range tfVariables(t) {
		variables[v.name] = v
	}
	for name, p := range at(t, load(t, "../template.yaml"), "Parameters").(map[string]any) {
		v, ok := variables[snake(name)]
		if name == "Idempotency" { // its table's hash_key is deprecated in version 6 of the provider, and key_schema is not in 5
			continue
		}
		if !ok {
			t.Errorf("there is no variable %s", snake(name))
			continue
		}
		parameter := p.(map[string]any)
		if def := strings.Trim(v.def, `"`); def != parameter["Default"] {
			t.Errorf("%s is %s by default, %s is %v", v.name, def, name, parameter["Default"])
		}
		low, high := parameter["MinValue"], parameter["MaxValue"]
		allowed, _ := parameter["AllowedValues"].([]any)
		switch {
		case v.kind == "number" && allowed != nil:
			low, high = allowed[0], allowed[len(allowed)-1]
			fallthrough
		case v.kind == "number":
			m := bounds.FindStringSubmatch(v.condition)
			if high == nil {
				high = ""
			}
			if m == nil || m[1] != v.name || m[2] != low || m[3] != high {
				t.Errorf("%s must be %s, %s %v to %v", v.name, v.condition, name, low, high)
			}
		case v.kind == "string" && allowed != nil:
			var quoted []string
			for _, a := range allowed {
				quoted = append(quoted, strconv.Quote(a.(string)))
			}
			if m := choices.FindStringSubmatch(v.condition); m == nil || m[2] != v.name || m[1] != strings.Join(quoted, ", ") {
				t.Errorf("%s must be %s, %s one of %v", v.name, v.condition, name, allowed)
			}
		}
	}
}

func TestTerraform_PageHasTheVariables(t *testing.T) {
	var table bytes.Buffer
	table.WriteString("| variable | default | |\n| --- | --- | --- |\n")
	for _, v := range tfVariables(t) {
		def := "`" + strings.Trim(v.def, `"`) + "`"
		if v.def == "" {
			def = "required"
		} else if v.def == `""` {
			def = ""
		}
		about := v.description
		if m := bounds.FindStringSubmatch(v.condition); m != nil && m[3] != "" {
			about += fmt.Sprintf(" %s to %s.", m[2], m[3])
		} else if m != nil {
			about += " At least " + m[2] + "."
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", v.name, def, about)
	}
	docpage.RequireSection(t, tfPage, "variables", table.String(), *update)
}
