package checks

import (
	"crypto/md5"
	bigendian "encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func md5Of(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// digest is the MD5 of message attributes as the developer guide defines it:
// by name, the length and bytes of name, type and value, and between the last
// two a byte for how the value travels.
func digest(attributes map[string]types.MessageAttributeValue) string {
	var text []byte
	add := func(part []byte) {
		text = bigendian.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		add([]byte(name))
		add([]byte(*a.DataType))
		if a.StringValue != nil {
			text = append(text, 1)
			add([]byte(*a.StringValue))
		} else {
			text = append(text, 2)
			add(a.BinaryValue)
		}
	}
	return md5Of(text)
}

// digestCheck sends one kind of attribute and compares both answers' digests.
func digestCheck(kind string, attributes map[string]types.MessageAttributeValue) Check {
	return check("digests/attributes-"+kind, pageMetadata,
		"MD5OfMessageAttributes, when sent and when received, is the digest of attributes of kind "+kind+".", func(e *env) {
			q := e.queue()
			sent := q.send("a", withAttributes(attributes))
			want(e, "MD5OfMessageAttributes when sent", aws.ToString(sent.MD5OfMessageAttributes), digest(attributes))
			want(e, "MD5OfMessageAttributes when received", aws.ToString(q.one().MD5OfMessageAttributes), digest(attributes))
		})
}

var digestChecks = []Check{
	check("digests/body-sent", api("SendMessage"), "MD5OfMessageBody is the MD5 of the body's bytes.", func(e *env) {
		q := e.queue()
		for _, body := range []string{"hello", "ünïcödé 🚀", "%41+&"} {
			want(e, "MD5OfMessageBody of "+body, aws.ToString(q.send(body).MD5OfMessageBody), md5Of([]byte(body)))
		}
	}),
	check("digests/body-received", api("ReceiveMessage"), "MD5OfBody is the MD5 of the body's bytes.", func(e *env) {
		want(e, "MD5OfBody", aws.ToString(e.filled("ünïcödé 🚀").one().MD5OfBody), md5Of([]byte("ünïcödé 🚀")))
	}),
	check("digests/none", api("SendMessage"), "A message without attributes has no digest of attributes.", func(e *env) {
		q := e.queue()
		sent := q.send("a")
		want(e, "MD5OfMessageAttributes when sent", aws.ToString(sent.MD5OfMessageAttributes), "")
		want(e, "MD5OfMessageSystemAttributes when sent", aws.ToString(sent.MD5OfMessageSystemAttributes), "")
		want(e, "MD5OfMessageAttributes when received", aws.ToString(q.one().MD5OfMessageAttributes), "")
	}),
	check("digests/system-attributes", api("SendMessage"),
		"MD5OfMessageSystemAttributes is the digest of the trace header, apart from that of the attributes.", func(e *env) {
			sent := e.queue().send("a", traced(traceHeader, "String"), withAttributes(sample()))
			want(e, "MD5OfMessageSystemAttributes", aws.ToString(sent.MD5OfMessageSystemAttributes),
				digest(map[string]types.MessageAttributeValue{"AWSTraceHeader": text(traceHeader)}))
			want(e, "MD5OfMessageAttributes", aws.ToString(sent.MD5OfMessageAttributes), digest(sample()))
		}),
	digestCheck("String", attributes{"a": text("value"), "b": text("ünïcödé")}),
	digestCheck("Number", attributes{"a": typed("Number", "42")}),
	digestCheck("Binary", attributes{"a": binary("Binary", 0, 255, 128)}),
	digestCheck("custom", attributes{"a": typed("String.json", "{}"), "b": typed("Number.int", "1"), "c": binary("Binary.gif", 'G')}),
	digestCheck("mixed", sample()),
}
