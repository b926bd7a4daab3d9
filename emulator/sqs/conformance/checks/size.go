package checks

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const mebibyte = 1 << 20

var sizeChecks = []Check{
	check("size/1-MiB", api("SendMessage"),
		"A message may have 1,048,576 bytes.", func(e *env) {
			q := e.queue()
			body := strings.Repeat("x", mebibyte)
			q.send(body)
			want(e, "body", *q.one().Body, body)
		}).recorded(localStack("2025-08-19", "test_send_oversized_message[sqs]: the limit in the refusal of more")),
	check("size/over-1-MiB", api("SendMessage"),
		"A message of 1,048,577 bytes is refused.", func(e *env) {
			e.refused("SendMessage of 1 MiB and a byte", e.queue().trySend(strings.Repeat("x", mebibyte+1)))
		}),
	check("size/queue-limit", api("CreateQueue"),
		"A message larger than the queue's MaximumMessageSize is refused.", func(e *env) {
			q := e.queue("MaximumMessageSize", "1024")
			q.send(strings.Repeat("x", 1024))
			e.refused("SendMessage of 1025 bytes to a queue for 1024", q.trySend(strings.Repeat("x", 1025)))
		}),
	check("size/bytes", api("CreateQueue"),
		"A message's size is counted in bytes, not in characters.", func(e *env) {
			q := e.queue("MaximumMessageSize", "1024")
			q.send(strings.Repeat("é", 512))
			e.refused("SendMessage of 513 characters with 2 bytes each to a queue for 1024", q.trySend(strings.Repeat("é", 513)))
		}),
	check("size/attributes-count", pageMetadata,
		"Names, types and values of message attributes count towards a message's size.", func(e *env) {
			q := e.queue("MaximumMessageSize", "1024")
			one := withAttributes(map[string]types.MessageAttributeValue{"name": text("value")}) // 4 + 6 + 5 bytes
			q.send(strings.Repeat("x", 1024-15), one)
			e.refused("SendMessage of 1010 bytes with an attribute of 15 to a queue for 1024", q.trySend(strings.Repeat("x", 1024-14), one))
		}),
	check("size/system-attributes-do-not", pageMetadata,
		"A message system attribute does not count towards a message's size.", func(e *env) {
			e.must("SendMessage of 1024 bytes and a trace header to a queue for 1024", e.queue("MaximumMessageSize", "1024").trySend(strings.Repeat("x", 1024), traced(traceHeader, "String")))
		}),
}
