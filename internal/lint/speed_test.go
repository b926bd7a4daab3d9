package lint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// synthesized is a template of 500 resources as CDK writes them.
func synthesized() string {
	const part = `"QueueN": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 18}},
  "RoleN": {"Type": "AWS::IAM::Role", "Properties": {}},
  "PolicyN": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "RoleN"}], "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": {"Fn::GetAtt": ["QueueN", "Arn"]}}]}}},
  "FunctionN": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["RoleN", "Arn"]}}},
  "MappingN": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["QueueN", "Arn"]}, "FunctionName": {"Ref": "FunctionN"}}}`
	var parts []string
	for i := range 100 {
		parts = append(parts, strings.ReplaceAll(part, `N"`, fmt.Sprint(i, `"`)))
	}
	return "{\"Resources\": {" + strings.Join(parts, ",\n") + "}}"
}

// BenchmarkCheck reads and checks a template of 500 resources, which is CloudFormation's limit.
func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	text := synthesized()
	for b.Loop() {
		if result := checkText(b, text); len(result.Findings) < 100 {
			b.Fatal(len(result.Findings))
		}
	}
}

// Aliases that multiply take no more memory than their text.
func TestCheck_AliasBomb(t *testing.T) {
	text := []byte(bomb(40))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checked(t, text)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<30 {
		t.Errorf("%d MB were allocated", grown>>20)
	}
}
