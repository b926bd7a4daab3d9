package rules_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// find returns the finding of a rule.
func find(t *testing.T, text, id string) rules.Finding {
	t.Helper()
	found := checkText(t, text).Findings
	i := slices.IndexFunc(found, func(f rules.Finding) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("no %s in %v of\n%s", id, found, text)
	}
	return found[i]
}

// A fix writes as the file does: blocks, {mappings}, JSON, quotes, comments and line ends.
func TestFixes_KeepTheStyle(t *testing.T) {
	var cases []struct{ Name, Rule, Old, Want string }
	golden.OK(t, yaml.Unmarshal([]byte(read(t, "fixes.yaml")), &cases))
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				old, want := strings.ReplaceAll(c.Old, "\n", eol), strings.ReplaceAll(c.Want, "\n", eol)
				f := find(t, old, c.Rule)
				if f.Fix == nil {
					t.Fatal("no fix")
				}
				if got, err := f.Fix.Apply([]byte(old)); err != nil || string(got) != want {
					t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
				}
			}
		})
	}
}

// No fix touches a value that comes from elsewhere, or that others use.
func TestFixes_LeaveAlone(t *testing.T) {
	const function = "  F: {Type: AWS::Serverless::Function, Properties: {Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}}}}\n"
	for name, queue := range map[string]string{
		"a parameter":        "Parameters: {V: {Type: Number, Default: 2}}\nResources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !Ref V}}\n",
		"an alias":           "X: &v 2\nResources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: *v}}\n",
		"an anchor":          "Resources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: &p {VisibilityTimeout: 2}}\n  P: {Type: AWS::SQS::Queue, Properties: *p}\n",
		"a merge":            "X: &p {VisibilityTimeout: 2}\nResources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: {<<: *p}}\n",
		"AWS::NoValue":       "Resources:\n" + strings.Replace(function, "{Events", "{Timeout: 60, Events", 1) + "  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !Ref AWS::NoValue}}\n",
		"properties by !If":  "Conditions: {C: !Equals [a, a]}\nResources:\n" + strings.Replace(function, "{Events", "{Timeout: 60, Events", 1) + "  Q: {Type: AWS::SQS::Queue, Properties: !If [C, {QueueName: q}, {QueueName: r}]}\n",
		"FindInMap":          "Mappings: {M: {a: {b: 2}}}\nResources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !FindInMap [M, a, b]}}\n",
		"several lines":      "Resources:\n" + function + "  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      VisibilityTimeout: >-\n        2\n",
		"long function name": "Resources:\n" + function + "  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: {\"Fn::Sub\": \"2\"}}}\n",
	} {
		if f := find(t, queue, "SB105"); f.Fix != nil {
			t.Errorf("%s: %s", name, f.Fix.Diff("t", []byte(queue)))
		}
	}
}

// Programs that do not surely use the toolkit have backoff of their own: no fix changes their alarms.
func TestFixes_RaiseNoAlarmOfOthers(t *testing.T) {
	const alarm = "A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: 60, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}"
	for _, function := range []string{"", "Runtime: provided.al2023", "Runtime: nodejs24.x", "Runtime: python3.14\nEnvironment: {Variables: {SQSBATCH_OUTAGE: 1h}}"} {
		if f := find(t, deployed{Function: function, More: alarm}.text(t), "SB501"); f.Fix != nil || f.Severity != rules.Note {
			t.Errorf("%q: %s, fix %v", function, f.Severity, f.Fix)
		}
	}
}

// Of fixes that do not touch each can be applied to what the other left, and their diff has
// a hunk for each.
func TestFixes_OneAfterAnother(t *testing.T) {
	text := example(t, "SB106", "bad")
	text = strings.Replace(text, "            MetricsConfig: {Metrics: [EventCount]}\n", "            FilterCriteria: {Filters: [{Pattern: '{}'}]}\n", 1)
	out := text
	for applied := 0; ; applied++ {
		findings := checkText(t, out).Findings
		if len(findings) == 0 {
			if applied != 2 {
				t.Errorf("%d fixes", applied)
			}
			break
		}
		fixed, err := findings[0].Fix.Apply([]byte(out))
		golden.OK(t, err)
		out = string(fixed)
	}
	if got, want := rules.Diff("a.yaml", []byte(text), []byte(out)), read(t, "fixes.diff"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, err := checkText(t, text).Findings[0].Fix.Apply(nil); err == nil {
		t.Error("a fix of another text is applied")
	}
}

// FuzzCheck: whatever the file holds, Check ends without a panic, marks text, and each of its
// fixes leaves a file that can be read, without that finding at that place.
func FuzzCheck(f *testing.F) {
	for _, r := range rules.Rules() {
		f.Add([]byte(example(f, r.ID, "bad")))
		f.Add([]byte(example(f, r.ID, "good")))
	}
	f.Add([]byte("{\"Resources\": {\"Q\": {\"Type\": \"AWS::SQS::Queue\", \"Properties\": {\"VisibilityTimeout\": 1}}}}"))
	f.Add([]byte(bomb(12)))
	f.Fuzz(func(t *testing.T, data []byte) {
		result, ok := checked(t, data)
		if !ok {
			return
		}
		for _, found := range result.Findings {
			if found.EndCol < found.Pos.Col {
				t.Errorf("%v marks columns %d to %d", found, found.Pos.Col, found.EndCol)
			}
			if found.Fix == nil || !bytes.Contains(data, []byte("Resources")) && !bytes.Contains(data, []byte("apiVersion")) {
				continue
			}
			fixed, err := found.Fix.Apply(data)
			if err != nil {
				t.Fatalf("%v: %v\n%s", found, err, data)
			}
			after, ok := checked(t, fixed)
			if !ok || alike(after, found) >= alike(result, found) { // a key that is there twice makes two

				t.Errorf("%s %v is not fixed:\n%s", found.ID, found, rules.Diff("t", data, fixed))
			}
		}
	})
}

// alike counts the findings that say the same as one.
func alike(result rules.Result, f rules.Finding) (n int) {
	for _, g := range result.Findings {
		if g.ID == f.ID && g.Message == f.Message {
			n++
		}
	}
	return n
}

func checked(t *testing.T, data []byte) (rules.Result, bool) {
	tmpl, err := parse(data)
	if err != nil {
		return rules.Result{}, false
	}
	st, err := tmpl.Stack(template.Options{EveryContainer: true})
	golden.OK(t, err)
	result, err := rules.Check(st)
	return result, err == nil // else it has too many expressions
}

// bomb is a template whose aliases multiply.
func bomb(levels int) string {
	var text strings.Builder
	text.WriteString("A0: &a0 {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 1}}\n")
	for i := 1; i <= levels; i++ {
		text.WriteString(strings.NewReplacer("N", strconv.Itoa(i), "M", strconv.Itoa(i-1)).Replace("AN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n"))
	}
	text.WriteString("Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: *a" + strconv.Itoa(levels) + ", QueueName: *a" + strconv.Itoa(levels) + "}}\n")
	text.WriteString("  F: {Type: AWS::Serverless::Function, Properties: {Policies: *a" + strconv.Itoa(levels) + ", Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: *a" + strconv.Itoa(levels) + "}}}}}\n")
	return text.String()
}
