package template_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

func stack(t *testing.T, text string) *template.Stack {
	t.Helper()
	st, err := parse(t, text).Stack(template.Options{})
	golden.OK(t, err)
	return st
}

// TestProperty_IsKnownWithItsPlace: what a rule asks of a template.
func TestProperty_IsKnownWithItsPlace(t *testing.T) {
	st := stack(t, read(t, "stack.yaml"))
	var ids []string
	all, err := st.Resources(template.SQSQueue, template.SAMFunction)
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"Q", "F"}) {
		t.Fatalf("resources %q, %v", ids, err)
	}
	f := all[1]
	if f.Pos != (template.Pos{Line: 8, Col: 3}) {
		t.Errorf("F is at %v", f.Pos)
	}
	size := f.Get("MemorySize")
	if n, err := size.Int(128); n != 7 || err != nil || size.Pos != (template.Pos{Line: 11, Col: 7}) {
		t.Errorf("MemorySize %d, %v at %v", n, err, size.Pos)
	}
	if n, err := f.Get("Timeout").Int(3); n != 30 || err != nil || f.Get("Timeout").Pos.Line != 3 {
		t.Errorf("Timeout %d, %v: it is not that of Globals", n, err)
	}
	subnets, err := f.Get("VpcConfig", "SubnetIds").List()
	if err != nil || len(subnets) != 1 || subnets[0].Pos != (template.Pos{Line: 14, Col: 21}) {
		t.Errorf("subnets %v, %v", subnets, err)
	}
	for _, path := range [][]string{{"VpcConfig", "SecurityGroupIds"}, {"Layers", "0"}} {
		if v := f.Get(path...); !v.Absent() {
			t.Errorf("%q is there", path)
		}
	}
	if v := f.Get("VpcConfig", "SecurityGroupIds"); v.Pos.Line != 13 {
		t.Errorf("what is absent from VpcConfig is at %v", v.Pos)
	}
}

// TestProperty_IsUnknownForAReason: an attribute that AWS gives has no value here.
func TestProperty_IsUnknownForAReason(t *testing.T) {
	f, ok := stack(t, read(t, "stack.yaml")+"  R: {Type: AWS::IAM::Role}\n").Resource("F")
	if !ok {
		t.Fatal("no F")
	}
	v := f.Get("Role")
	e, ok := errors.AsType[*template.Error](v.Err)
	if !ok || v.Absent() || e.Attribute != "R.Arn" || e.Error() != "line 12: R.Arn is known only once the stack is deployed" {
		t.Errorf("Role is %v", v.Err)
	}
	if _, err := v.Get("X").Str(); !errors.Is(err, v.Err) {
		t.Errorf("below it: %v", err)
	}
	if _, err := f.Get("VpcConfig").Str(); err == nil {
		t.Error("a mapping is a string")
	}
}

// TestJSONTemplate_HasPlaces: JSON is read as YAML is.
func TestJSONTemplate_HasPlaces(t *testing.T) {
	st := stack(t, "{\n\"Resources\": {\n \"Q\": {\"Type\": \"AWS::SQS::Queue\",\n  \"Properties\": {\"DelaySeconds\": {\"Fn::Select\": [1, [4, 5]]}}}}}")
	q, _ := st.Resource("Q")
	v := q.Get("DelaySeconds")
	if n, err := v.Int(0); n != 5 || err != nil || v.Pos != (template.Pos{Line: 4, Col: 18}) || q.Pos.Line != 3 {
		t.Errorf("%d, %v at %v, Q at %v", n, err, v.Pos, q.Pos)
	}
}

func queues(t *testing.T, text string, o template.Options) (names []string, all []template.Queue, warnings string, err error) {
	t.Helper()
	st, err := parse(t, text).Stack(o)
	if err != nil {
		return nil, nil, "", err
	}
	all, found, err := st.Queues()
	for _, q := range all {
		names = append(names, q.Name)
	}
	return names, all, fmt.Sprint(found), err
}

// TestQueuesWithoutAFunction: a template that has queues and no function is
// none for Resolve; Queues reads it, dead-letter queues first.
func TestQueuesWithoutAFunction(t *testing.T) {
	text := read(t, "queues.yaml")
	names, all, warnings, err := queues(t, text, template.Options{Region: "eu-west-1", AccountID: "123456789012"})
	golden.OK(t, err)
	if want := []string{"dead", "orders-dev", "far-dead.fifo", "Far.fifo"}; !slices.Equal(names, want) {
		t.Errorf("queues %v, want %v", names, want)
	}
	if q := all[1]; q.Attributes["VisibilityTimeout"] != "60" || q.DeadLetterARN != "arn:aws:sqs:eu-west-1:123456789012:dead" || q.MaxReceiveCount != 3 {
		t.Errorf("%+v", q)
	}
	for _, want := range []string{"queue Odd is not created", "parameter Free has no default", "far-dead.fifo is not in the template"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning says %q:\n%s", want, warnings)
		}
	}

	names, _, warnings, err = queues(t, text, template.Options{Parameters: map[string]string{"Free": "free", "Stage": "x"}})
	if err != nil || !slices.Contains(names, "free") || !slices.Contains(names, "orders-x") || strings.Contains(warnings, "Odd") {
		t.Errorf("queues %v, error %v, warnings %s", names, err, warnings)
	}
}

func TestQueuesThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		parameters map[string]string
		err        string
	}{
		{"a dead-letter queue", `Resources:
  A: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt B.Arn, maxReceiveCount: 3}}}
  B: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !ImportValue x}}`, nil, "Fn::ImportValue has no value"},
		{"a condition", "Resources: {A: {Type: AWS::SQS::Queue, Condition: Nope}}", nil, "Conditions has no Nope"},
		{"a parameter", "Resources: {}", map[string]string{"X": "1"}, "no parameter X"},
	} {
		if _, _, _, err := queues(t, tt.text, template.Options{Parameters: tt.parameters}); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		}
	}
}
