package source_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

func TestWrite_KeepsPlacesAndValues(t *testing.T) {
	q := &source.Resource{ID: "Q0", Name: "orders", Address: "orders", Type: template.SQSQueue, Deep: true}
	q.Set("QueueName", "a\n\u2028\"b\"", "QueueName")
	q.Set("RedrivePolicy", map[string]any{"deadLetterTargetArn": source.GetAtt("Q1", "Arn"), "maxReceiveCount": 5}, "RedrivePolicy")
	q.Set("DelaySeconds", source.Unknown("it was not read"), "DelaySeconds")
	q.Set("Tags", map[string]any{"Ref": "Q0"}, "Tags") // a value of the resource, not a reference
	dead := &source.Resource{ID: "Q1", Name: "orders-dlq", Address: "orders-dlq", Type: template.SQSQueue, Context: true}
	s, err := source.Write(template.Options{}, []*source.Resource{q, dead})
	golden.OK(t, err)
	st, err := s.Template.Stack(s.Options)
	golden.OK(t, err)
	r, _ := st.Resource("Q0")
	if name, err := r.Get("QueueName").Str(); err != nil || name != "a\n\u2028\"b\"" {
		t.Errorf("%q %v", name, err)
	}
	count := r.Get("RedrivePolicy", "maxReceiveCount")
	if at := s.Place(count.Pos); at != (source.Place{Address: "orders", Attribute: "RedrivePolicy.maxReceiveCount"}) {
		t.Errorf("%+v", at)
	}
	if arn, _ := r.Get("RedrivePolicy", "deadLetterTargetArn").Str(); arn != "arn:aws:sqs:us-east-1:000000000000:Q1" {
		t.Error(arn)
	}
	if r.Get("DelaySeconds").Unknown() == nil || r.Get("Tags").Unknown() == nil {
		t.Error("a value that is not known is known")
	}
	if got := s.Text("queue Q0 (line 3) and Q1"); got != "queue orders and orders-dlq" {
		t.Error(got)
	}
	if s.IsContext("Q0") || !s.IsContext("Q1") {
		t.Error("the wrong resource is context")
	}
}
