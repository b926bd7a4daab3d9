package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// selects returns a check of the message attributes that a receive returns.
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

// selectsSystem returns a check of the system attributes that a receive returns.
func selectsSystem(id, must string, asked ...types.MessageSystemAttributeName) Check {
	return check("selection/system-"+id, api("ReceiveMessage"), must, func(e *env) {
		q := e.queue()
		q.send("a", traced(traceHeader, "String"))
		want(e, "system attributes", fmt.Sprint(slices.Sorted(maps.Keys(q.one(asking(asked...)).Attributes))), fmt.Sprint(asked))
	})
}

var selectionChecks = []Check{
	selects("none", "A receiver that names no message attributes gets none.", nil),
	selects("names", "A receiver gets the message attributes that it names.", []string{"foo", "bar.two", "unknown"}, "bar.two", "foo"),
	selects("case", "Names of message attributes are case-sensitive when a receiver names them.", []string{"FOO", "Foo"}, "Foo"),
	selects("prefix", "A name that ends in .* is a prefix.", []string{"bar.*"}, "bar.one", "bar.two"),
	selects("all", "All means all message attributes.", []string{"All"}, "bar.one", "bar.two", "foo", "Foo"),
	selects("dot-asterisk", "The name .* means all message attributes.", []string{".*"}, "bar.one", "bar.two", "foo", "Foo"),
	selects("asterisk", "The name * means all message attributes.", []string{"*"}, "bar.one", "bar.two", "foo", "Foo").
		recorded(localStack("2024-04-30", "test_receive_message_message_attribute_names_filters[sqs], all_wildcard_asterisk")),
	selectsSystem("none", "A receiver that names no system attributes gets none."),
	selectsSystem("names", "A receiver gets the system attributes that it names, and no others.", "AWSTraceHeader", "SentTimestamp"),
	check("selection/system-older-name", api("ReceiveMessage"), "AttributeNames, the discontinued name of MessageSystemAttributeNames, still works.", func(e *env) {
		q := e.filled("a")
		m := q.one(asking(), func(in *awssqs.ReceiveMessageInput) {
			//lint:ignore SA1019 this is what the check is about
			in.AttributeNames = []types.QueueAttributeName{"SentTimestamp"}
		})
		want(e, "system attributes", strings.Join(slices.Sorted(maps.Keys(m.Attributes)), " "), "SentTimestamp")
	}),
}

var systemAttributeChecks = []Check{
	check("system-attributes/all", api("ReceiveMessage"), "All returns sender, times and receive count of every message.", func(e *env) {
		_, m := e.received()
		for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"} {
			if m.Attributes[name] == "" {
				e.fail("want %s among the system attributes, got %v", name, m.Attributes)
			}
		}
	}),
	check("system-attributes/sent", api("ReceiveMessage"), "SentTimestamp is when the message was sent, in milliseconds since 1970.", func(e *env) {
		q := e.filled("a")
		sent := time.UnixMilli(q.number(q.one(), "SentTimestamp"))
		if off := time.Since(sent).Abs(); off > time.Hour { // clocks differ; units differ more
			e.fail("SentTimestamp: want about %v, got %v", time.Now(), sent)
		}
	}),
	check("system-attributes/first-received", api("ReceiveMessage"),
		"ApproximateFirstReceiveTimestamp is when the message was first received, and later receives do not change it.", func(e *env) {
			q := e.filled("a")
			e.sleep(time.Second)
			first := q.one(hidden(1))
			at := q.number(first, "ApproximateFirstReceiveTimestamp")
			if after := at - q.number(first, "SentTimestamp"); after < 500 || after > 3_600_000 {
				e.fail("ApproximateFirstReceiveTimestamp: want about a second after SentTimestamp, got %d ms", after)
			}
			want(e, "ApproximateFirstReceiveTimestamp at the second receive", q.number(q.one(), "ApproximateFirstReceiveTimestamp"), at)
		}),
	check("system-attributes/receive-count", api("ReceiveMessage"), "ApproximateReceiveCount is the number of times that the message was received.", func(e *env) {
		q := e.filled("a")
		for n := int64(1); n <= 3; n++ {
			m := q.one()
			want(e, "ApproximateReceiveCount", q.number(m, "ApproximateReceiveCount"), n)
			q.hide(m, 0)
		}
	}),
	check("system-attributes/fifo", api("ReceiveMessage"),
		"Messages of FIFO queues have group, deduplication id and the sequence number that the sender got.", func(e *env) {
			q := e.fifo()
			sent := q.send("a", inGroup("group-1"), withID("id-1"))
			m := q.one()
			want(e, "MessageGroupId", m.Attributes["MessageGroupId"], "group-1")
			want(e, "MessageDeduplicationId", m.Attributes["MessageDeduplicationId"], "id-1")
			want(e, "SequenceNumber", m.Attributes["SequenceNumber"], aws.ToString(sent.SequenceNumber))
		}),
}
