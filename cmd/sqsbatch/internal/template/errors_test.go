package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// function makes a template of a function and a queue with these properties.
func function(properties, queue string) string {
	return `
Parameters: {Seven: {Type: Number, Default: 7}, Free: {Type: String}, Loop: {Type: String, Default: x}, Ssm: {Type: "AWS::SSM::Parameter::Value<String>", Default: /a/b}}
Conditions: {C: {"Fn::Not": [{Condition: C}]}, D: !Equals [a, a]}
Mappings: {M: {a: {b: c}}}
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {` + queue + `}}
  F:
    Type: AWS::Serverless::Function
    Properties: {` + properties + `, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}}}
`
}

// What cannot be known is an error where it is needed, with the line and a remedy.
func TestUnknownValues(t *testing.T) {
	tests := []struct{ name, function, queue, err string }{
		{"parameter", "Timeout: !Ref Free", "", "line 9: parameter Free has no default"},
		{"ssm", "Timeout: !Ref Ssm", "", "parameter Ssm is read from SSM"},
		{"no such", "Timeout: !Ref Nope", "", "Nope is neither a parameter nor a resource"},
		{"number", "Timeout: soon", "", `Timeout is "soon"; it must be a whole number`},
		{"timeout bounds", "Timeout: 901", "", "Timeout of F is 901; Lambda takes 1 to 900 seconds"},
		{"timeout bounds without capacity", "Timeout: 901, CapacityProviderConfig: !Ref AWS::NoValue", "", "Timeout of F is 901; Lambda takes 1 to 900 seconds"},
		{"timeout bounds with capacity", "Timeout: 5401, CapacityProviderConfig: {Arn: a}", "", "Timeout of F is 5401; Lambda takes 1 to 900 seconds, with a CapacityProviderConfig up to 5400"},
		{"memory bounds", "MemorySize: 1", "", "Lambda takes 128 to 10240 MB"},
		{"import", "Timeout: !ImportValue x", "", "Fn::ImportValue has no value outside an AWS account"},
		{"circle of conditions", "Timeout: !If [C, 1, 2]", "", "does something in it refer to itself"},
		{"no condition", "Timeout: !If [X, 1, 2]", "", "Conditions has no X"},
		{"if", "Timeout: !If [D, 1]", "", "it must be written as Fn::If"},
		{"map", "Timeout: !FindInMap [M, a, z]", "", "Mappings has no M.a.z"},
		{"select", "Timeout: !Select [2, [a, b]]", "", "element 2 of a list of 2"},
		{"split", `Timeout: !Select [0, !Split ["", x]]`, "", "delimiter of Fn::Split is empty"},
		{"sub", `Timeout: !Sub "${a"`, "", "${ without }"},
		{"attribute", "Timeout: !GetAtt Q.Age", "", "Q.Age is known only once the stack is deployed"},
		{"mapping", "Timeout: {a: 1, b: 2}", "", "a string is expected here, not a mapping"},
		{"name refers to itself", "Timeout: 1", "QueueName: !GetAtt Q.QueueName", "does something in it refer to itself"},
		{"redrive target", "Timeout: 1", "RedrivePolicy: {deadLetterTargetArn: x, maxReceiveCount: 5}", "must be the ARN of an SQS queue"},
		{"redrive count", "Timeout: 1", `RedrivePolicy: '{"deadLetterTargetArn":"arn:aws:sqs:r:1:d"}'`, "maxReceiveCount <nil>"},
		{"redrive json", "Timeout: 1", `RedrivePolicy: '{'`, "not a JSON object"},
		{"variables", "Environment: {Variables: [a]}", "", "Variables must be a mapping"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, function(tt.function, tt.queue)).Resolve(template.Options{})
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// A filter may be there on a condition, as any element of a list.
func TestFilterByCondition_IsLeftOutWithItsCondition(t *testing.T) {
	const event = "Q.Arn, FilterCriteria: {Filters: [{Pattern: a}, !If [D, {Pattern: b}, !Ref AWS::NoValue], !If [N, {Pattern: c}, !Ref AWS::NoValue]]}}"
	text := strings.NewReplacer("Q.Arn}", event, "Conditions: {", "Conditions: {N: !Equals [a, b], ").Replace(function("Timeout: 1", ""))
	var patterns []string
	for _, f := range resolveText(t, text, template.Options{}).Event.Filters {
		patterns = append(patterns, f.Pattern)
	}
	if want := []string{"a", "b"}; !slices.Equal(patterns, want) {
		t.Errorf("filters %q, want %q", patterns, want)
	}
}

// An element that is not known is an error only where it is asked for.
func TestSelect_IgnoresElementsThatAreUnknown(t *testing.T) {
	d := resolveText(t, function("Timeout: !Select [1, [!ImportValue x, !Ref Seven]]", `QueueName: !Join ["-", [a, !If [D, b, !Ref AWS::NoValue], !If [D, !Ref AWS::NoValue, c]]]`),
		template.Options{})
	if d.Function.Timeout != 7*time.Second || d.Queue.Name != "a-b" {
		t.Errorf("timeout %v, queue %s", d.Function.Timeout, d.Queue.Name)
	}
}

// TestGrowth: aliases and joins that multiply end in an error, soon.
func TestGrowth(t *testing.T) {
	var b strings.Builder
	b.WriteString("Metadata:\n  l0: &l0 xxxxxxxxxxxxxxxx\n")
	for i := range 9 {
		fmt.Fprintf(&b, "  l%d: &l%[1]d {\"Fn::Join\": [\"\", [%s]]}\n", i+1, strings.Join(slices.Repeat([]string{fmt.Sprint("*l", i)}, 16), ", "))
	}
	b.WriteString(strings.TrimPrefix(function("FunctionName: *l9", ""), "\n"))
	if _, err := parse(t, b.String()).Resolve(template.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestNotATemplate(t *testing.T) {
	for in, want := range map[string]string{
		"":               "empty",
		"a: 1":           "no mapping named Resources",
		"- a":            "top level is not a mapping",
		"Resources: [a]": "no mapping named Resources",
		"a: b: c":        "mapping values are not allowed",
	} {
		if _, err := template.Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

// "Configure Lambda function timeout" has 900 s; a function on Lambda Managed
// Instances may take 90 minutes, whether SAM or CloudFormation is asked for it.
func TestTimeoutOnManagedInstances(t *testing.T) {
	const sam = "CapacityProviderConfig: {Arn: !GetAtt Capacity.Arn, PerExecutionEnvironmentMaxConcurrency: 64}"
	const cloudFormation = "CapacityProviderConfig: {LambdaManagedInstancesCapacityProviderConfig: {CapacityProviderArn: !GetAtt Capacity.Arn}}"
	tests := []struct {
		properties, globals string
		managed             bool
		want                time.Duration
	}{
		{"Timeout: 900", "", false, 900 * time.Second},
		{"Timeout: 5400, " + sam, "", true, 90 * time.Minute},
		{"Timeout: 5400", sam, true, 90 * time.Minute},
		{"Timeout: 5400, " + cloudFormation, "", true, 90 * time.Minute},
	}
	for _, tt := range tests {
		text := "Globals: {Function: {" + tt.globals + "}}\n" + function(tt.properties, "VisibilityTimeout: 32700") +
			"  Capacity: {Type: AWS::Serverless::CapacityProvider, Properties: {VpcConfig: {SubnetIds: [s]}}}\n"
		d := resolveText(t, text, template.Options{})
		if f := d.Function; f.Timeout != tt.want || f.ManagedInstances != tt.managed || len(d.Findings) != 0 {
			t.Errorf("%s: timeout %v, managed instances %v, findings %v; want %v, %v", text, f.Timeout, f.ManagedInstances, d.Findings, tt.want, tt.managed)
		}
	}
}
