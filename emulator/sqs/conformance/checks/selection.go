package checks

import (
	"maps"
	"slices"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// selects is a check of which message attributes a receiver gets.
func selects(id, must string, asked []string, wanted ...string) Check {
	return check("selection/"+id, api("ReceiveMessage"), must, func(e *env) {
		q := e.queue()
		q.send("a", withAttributes(attributeNames("bar.one", "bar.two", "foo", "Foo")))
		m := q.one(func(in *awssqs.ReceiveMessageInput) { in.MessageAttributeNames = asked })
		got := slices.Sorted(maps.Keys(m.MessageAttributes))
		slices.Sort(wanted)
		want(e, "message attributes", strings.Join(got, " "), strings.Join(wanted, " "))
		for _, name := range wanted {
			want(e, "value", *m.MessageAttributes[name].StringValue, "value of "+name)
		}
	})
}

var selectionChecks = []Check{
	selects("none", "A receiver that names no message attributes gets none.", nil),
	selects("names", "A receiver gets the message attributes that it names.", []string{"foo", "bar.two", "unknown"}, "bar.two", "foo"),
	selects("case", "Names of message attributes are case-sensitive when a receiver names them.", []string{"FOO", "Foo"}, "Foo"),
	selects("prefix", "A name that ends in .* is a prefix.", []string{"bar.*"}, "bar.one", "bar.two"),
	selects("all", "All means all message attributes.", []string{"All"}, "bar.one", "bar.two", "foo", "Foo"),
	selects("dot-asterisk", "The name .* means all message attributes.", []string{".*"}, "bar.one", "bar.two", "foo", "Foo"),
	check("selection/system-none", api("ReceiveMessage"),
		"A receiver that names no system attributes gets none.", func(e *env) {
			q := e.queue()
			q.send("a", traced(traceHeader, "String"))
			want(e, "number of system attributes", len(q.one(asking()).Attributes), 0)
		}),
	check("selection/system-names", api("ReceiveMessage"),
		"A receiver gets the system attributes that it names, and no others.", func(e *env) {
			q := e.queue()
			q.send("a", traced(traceHeader, "String"))
			m := q.one(asking("SentTimestamp", "AWSTraceHeader"))
			want(e, "system attributes", strings.Join(slices.Sorted(maps.Keys(m.Attributes)), " "), "AWSTraceHeader SentTimestamp")
		}),
	check("selection/system-older-name", api("ReceiveMessage"),
		"AttributeNames, the discontinued name of MessageSystemAttributeNames, still works.", func(e *env) {
			q := e.queue()
			q.send("a")
			m := q.one(asking(), func(in *awssqs.ReceiveMessageInput) {
				//lint:ignore SA1019 this is what the check is about
				in.AttributeNames = []types.QueueAttributeName{"SentTimestamp"}
			})
			want(e, "system attributes", strings.Join(slices.Sorted(maps.Keys(m.Attributes)), " "), "SentTimestamp")
		}),
}
