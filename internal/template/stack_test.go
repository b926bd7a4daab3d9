package template_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

func stack(t *testing.T, text string) *template.Stack {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	ok(t, err)
	st, err := tmpl.Stack(template.Options{})
	ok(t, err)
	return st
}

const asked = `Parameters: {Size: {Type: Number, Default: 7}}
Conditions: {Never: !Equals [a, b]}
Globals: {Function: {Timeout: 30}}
Resources:
  Hidden: {Type: AWS::SQS::Queue, Condition: Never}
  Q:
    Type: AWS::SQS::Queue
  F:
    Type: AWS::Serverless::Function
    Properties:
      MemorySize: !Ref Size
      Role: !GetAtt R.Arn
      VpcConfig:
        SubnetIds: [a, !If [Never, b, !Ref AWS::NoValue]]
`

// TestProperty_IsKnownWithItsPlace: what a rule asks of a template.
func TestProperty_IsKnownWithItsPlace(t *testing.T) {
	st := stack(t, asked)
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
	f, ok := stack(t, asked+"  R: {Type: AWS::IAM::Role}\n").Resource("F")
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
