package main

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// traceHeader is a valid value of AWSTraceHeader.
const traceHeader = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

func traced(header, dataType string) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: &dataType, StringValue: &header}}
	}
}

// traceHTTP sets the trace header in a request's HTTP header.
func traceHTTP(header string) func(*awssqs.Options) {
	return func(o *awssqs.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amzn-Trace-Id", header))
	}
}

var sendChecks = []Check{
	check("send/answer", api("SendMessage"),
		"SendMessage returns the message's id, of 100 characters at most, and no sequence number on a standard queue.", func(e *env) {
			q := e.queue()
			sent := q.send("hello")
			if id := aws.ToString(sent.MessageId); id == "" || len(id) > 100 {
				e.fail("MessageId: want 1 to 100 characters, got %q", id)
			}
			want(e, "SequenceNumber", aws.ToString(sent.SequenceNumber), "")
			want(e, "MessageId of the received message", *q.one().MessageId, *sent.MessageId)
		}),
	check("send/ids-differ", pageIdentifiers, "Each message has an id of its own, also when it is sent twice.", func(e *env) {
		q := e.queue()
		if a, b := *q.send("same").MessageId, *q.send("same").MessageId; a == b {
			e.fail("want two ids, got %s twice", a)
		}
		q.take(2)
	}),
	check("send/body-intact", api("SendMessage"), "A body of any allowed characters is received as it was sent.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		for _, body := range []string{
			"a", " ", "  spaces around  ", "tab\tline\nreturn\r\n", `{"quote":"\"","slash":"\\"}`, "<a>&amp;'</a>",
			"\u0020\ud7ff\ue000\ufffd\U00010000\U0010ffff", "\u007f\u0085\u2028", "ünïcödé 漢字 🚀", "%20+%2B&Action=SendMessage",
		} {
			q.send(body)
			m := q.one()
			want(e, "body", *m.Body, body)
			q.delete(m)
		}
	}),
	check("send/characters", api("SendMessage"), "A body with a character outside the allowed set is InvalidMessageContents.", func(e *env) {
		q := e.queue()
		for _, bad := range []string{"\x00", "\x01", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"} {
			refusedAs[*types.InvalidMessageContents](e, fmt.Sprintf("SendMessage with %+q in the body", bad), q.trySend("a"+bad+"b"))
		}
	}),
	check("send/empty", api("SendMessage"), "The minimum size of a message is one character.", func(e *env) {
		e.refused("SendMessage with an empty body", e.queue().trySend(""))
	}),
	check("send/delay-bounds", api("SendMessage"), "DelaySeconds is 0 to 900.", func(e *env) {
		q := e.queue()
		e.bounds("DelaySeconds", []int32{900}, []int32{901, -1}, func(n int32) error { return q.trySend("a", delayed(n)) })
	}).recorded(quoted("2022-11-30", "aws-samples/amazon-sqs-dlq-replay-backoff/issues/8")),
	check("send/trace-header", pageMetadata, "The system attribute AWSTraceHeader is delivered with the message.", func(e *env) {
		q := e.queue()
		q.send("a", traced(traceHeader, "String"))
		want(e, "AWSTraceHeader", q.one().Attributes["AWSTraceHeader"], traceHeader)
	}),
	check("send/trace-http-header", pageXRay, "The HTTP header X-Amzn-Trace-Id of SendMessage becomes the message's AWSTraceHeader.", func(e *env) {
		q := e.queue()
		must(e.SendMessage(e.ctx, &awssqs.SendMessageInput{QueueUrl: q.url, MessageBody: aws.String("a")}, traceHTTP(traceHeader)))
		want(e, "AWSTraceHeader", q.one().Attributes["AWSTraceHeader"], traceHeader)
	}).recorded(localStack("2025-06-27", "test_aws_trace_header_propagation[sqs]")),
	check("send/trace-http-header-batch", pageXRay,
		"X-Amzn-Trace-Id of SendMessageBatch goes to all its messages but those that have an AWSTraceHeader of their own.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			own := strings.Replace(traceHeader, "53995c3f42cd8ad8", "1111111111111111", 1)
			entries := []types.SendMessageBatchRequestEntry{entry("a", "without"), entry("b", "with")}
			entries[1].MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &own}}
			must(e.SendMessageBatch(e.ctx, &awssqs.SendMessageBatchInput{QueueUrl: q.url, Entries: entries}, traceHTTP(traceHeader)))
			for _, m := range q.take(2) {
				want(e, "AWSTraceHeader of "+*m.Body, m.Attributes["AWSTraceHeader"], map[string]string{"without": traceHeader, "with": own}[*m.Body])
			}
		}),
	check("send/trace-header-type", pageMetadata, "AWSTraceHeader's type must be String.", func(e *env) {
		e.refused("SendMessage with an AWSTraceHeader of type Number", e.queue().trySend("a", traced("1", "Number")))
	}),
	check("send/system-attributes", api("SendMessage"), "AWSTraceHeader is the only system attribute that can be sent.", func(e *env) {
		err := e.queue().trySend("a", func(in *awssqs.SendMessageInput) {
			in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"SenderId": {DataType: aws.String("String"), StringValue: aws.String("me")}}
		})
		e.refused("SendMessage with the system attribute SenderId", err)
	}),
}

const mebibyte = 1 << 20

// limited returns a check that a queue for 1,024 bytes accepts most characters, and no more.
func limited(id, must, character string, most int) Check {
	return check("size/"+id, api("CreateQueue"), must, func(e *env) {
		q := e.queue("MaximumMessageSize", "1024")
		q.send(strings.Repeat(character, most))
		e.refused(fmt.Sprintf("SendMessage of %d times %s to a queue for 1024 bytes", most+1, character), q.trySend(strings.Repeat(character, most+1)))
	})
}

var sizeChecks = []Check{
	check("size/1-MiB", api("SendMessage"), "A message may have 1,048,576 bytes.", func(e *env) {
		q := e.queue()
		body := strings.Repeat("x", mebibyte)
		q.send(body)
		want(e, "body", *q.one().Body, body)
	}).recorded(localStack("2025-08-19", "test_send_oversized_message[sqs]: the limit in the refusal of more")),
	check("size/over-1-MiB", api("SendMessage"), "A message of 1,048,577 bytes is refused.", func(e *env) {
		e.refused("SendMessage of 1 MiB and a byte", e.queue().trySend(strings.Repeat("x", mebibyte+1)))
	}),
	limited("queue-limit", "A message larger than the queue's MaximumMessageSize is refused.", "x", 1024),
	limited("bytes", "A message's size is counted in bytes, not in characters.", "é", 512),
	check("size/attributes-count", pageMetadata, "Names, types and values of message attributes count towards a message's size.", func(e *env) {
		q := e.queue("MaximumMessageSize", "1024")
		one := withAttributes(map[string]types.MessageAttributeValue{"name": text("value")}) // 4 + 6 + 5 bytes
		q.send(strings.Repeat("x", 1024-15), one)
		e.refused("SendMessage of 1010 bytes with an attribute of 15 to a queue for 1024", q.trySend(strings.Repeat("x", 1024-14), one))
	}),
	check("size/system-attributes-do-not", pageMetadata, "A message system attribute does not count towards a message's size.", func(e *env) {
		e.must("SendMessage of 1024 bytes and a trace header to a queue for 1024", e.queue("MaximumMessageSize", "1024").trySend(strings.Repeat("x", 1024), traced(traceHeader, "String")))
	}),
}
