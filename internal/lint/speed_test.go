package lint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// large is a template of 5,000 lines: an example with a finding, over and over.
func large(t testing.TB) []byte {
	var text strings.Builder
	text.WriteString("Resources:\n")
	one := strings.TrimPrefix(example(t, "SB106", "bad"), "Resources:\n") + "\n"
	lines := 1
	for i := 0; lines < 5000; i++ {
		n := string(rune('A'+i/26)) + string(rune('A'+i%26))
		part := strings.NewReplacer("Orders:", n+"Orders:", "Orders.", n+"Orders.", "DeadLetters:", n+"DeadLetters:", "DeadLetters.", n+"DeadLetters.", "Ship:", n+"Ship:").Replace(one)
		text.WriteString(part)
		lines += strings.Count(part, "\n")
	}
	return []byte(text.String())
}

// synthesized is a template of 500 resources as CDK writes them.
func synthesized() []byte {
	const part = `"QueueN": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 18}},
  "RoleN": {"Type": "AWS::IAM::Role", "Properties": {}},
  "PolicyN": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "RoleN"}], "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": {"Fn::GetAtt": ["QueueN", "Arn"]}}]}}},
  "FunctionN": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["RoleN", "Arn"]}}},
  "MappingN": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["QueueN", "Arn"]}, "FunctionName": {"Ref": "FunctionN"}}}`
	var parts []string
	for i := range 100 {
		parts = append(parts, strings.ReplaceAll(part, `N"`, fmt.Sprint(i, `"`)))
	}
	return []byte("{\"Resources\": {" + strings.Join(parts, ",\n") + "}}")
}

// BenchmarkCheck reads and checks a template of 5,000 lines, and one of 500 resources, which is
// CloudFormation's limit.
func BenchmarkCheck(b *testing.B) {
	for name, text := range map[string][]byte{"5000lines": large(b), "500resources": synthesized()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tmpl, err := template.Parse(text)
				ok(b, err)
				st, err := tmpl.Stack(template.Options{})
				ok(b, err)
				if result, err := lint.Check(st); err != nil || len(result.Findings) < 100 {
					b.Fatal(len(result.Findings), err)
				}
			}
		})
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
