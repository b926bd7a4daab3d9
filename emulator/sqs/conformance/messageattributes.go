package main

import (
	"bytes"
	"crypto/md5"
	bigendian "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

func typed(dataType, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &dataType, StringValue: &value}
}

func text(value string) types.MessageAttributeValue { return typed("String", value) }

func binary(dataType string, value ...byte) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &dataType, BinaryValue: value}
}

func sample() attributes {
	return attributes{
		"text": text("ünïcödé\n🚀"), "text.custom": typed("String.json", `{"a":1}`),
		"number": typed("Number", "-12.5"), "number_custom": typed("Number.int", "7"),
		"binary-1": binary("Binary", 0, 255, 10, 0), "binary-2": binary("Binary.png", 0x89, 'P', 'N', 'G'),
	}
}

// sameAttributes ends the check unless got equals the sent attributes.
func (e *env) sameAttributes(got, sent attributes) {
	for name, s := range sent {
		g, ok := got[name]
		if !ok || aws.ToString(g.DataType) != *s.DataType || aws.ToString(g.StringValue) != aws.ToString(s.StringValue) ||
			!bytes.Equal(g.BinaryValue, s.BinaryValue) {
			e.fail("message attribute %s: want %s, got %s", name, describe(s), describe(g))
		}
	}
	want(e, "number of message attributes", len(got), len(sent))
}

func describe(v types.MessageAttributeValue) string {
	return fmt.Sprintf("type %q, text %q, bytes %v", aws.ToString(v.DataType), aws.ToString(v.StringValue), v.BinaryValue)
}

func attributeNames(names ...string) attributes {
	all := attributes{}
	for _, name := range names {
		all[name] = text("value of " + name)
	}
	return all
}

// keeps returns a check that attributes are received as they were sent.
func keeps(id, must string, sent attributes) Check {
	return check("attributes-of-messages/"+id, pageMetadata, must, func(e *env) {
		q := e.queue()
		q.send("a", withAttributes(sent))
		e.sameAttributes(q.one().MessageAttributes, sent)
	})
}

var messageAttributeChecks = []Check{
	// Included although the recording has no date: the page names
	// InvalidMessageContents for the body's characters only.
	check("attributes-of-messages/characters", api("SendMessage"), "A control character in a string attribute is InvalidParameterValue.", func(e *env) {
		err := e.queue().trySend("a", withAttributes(attributes{"attr1": text("Invalid-\b,\v")}))
		e.refused("SendMessage", err)
		if failure, ok := errors.AsType[smithy.APIError](err); ok {
			want(e, "code", failure.ErrorCode(), "InvalidParameterValue")
		}
	}).undocumented().recorded(localStackValidated("test_invalid_string_attributes_cause_invalid_parameter_value_error")),
	// Included although the recording has no date and the page has A-Z and a-z: the
	// recorded test uses this name because AWS accepts it.
	keeps("name-letters", "An attribute name may have letters outside ASCII.", attributeNames("attr.1øßä")).
		undocumented().recorded(localStackValidated("test_send_message_with_invalid_string_attributes")),
	keeps("intact", "Attributes of type String, Number and Binary are received as they were sent.", sample()),
	keeps("ten", "A message may have ten attributes.", attributeNames("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")),
	keeps("name-case", "Attribute names are case-sensitive.", attributeNames("name", "NAME")),
	keeps("name-longest", "An attribute name may have 256 letters, digits, underscores, hyphens and periods.",
		attributeNames(strings.Repeat("n", 256), "aZ_09-b.c.d")),
}

// refuses returns a check that SendMessage refuses each of the attributes.
func refuses(id, must string, bad map[string]attributes) Check {
	return check("attributes-of-messages/"+id, pageMetadata, must, func(e *env) {
		q := e.queue()
		for what, attributes := range bad {
			e.refused("SendMessage with "+what, q.trySend("a", withAttributes(attributes)))
		}
		q.none("the queue of messages that were refused")
	})
}

type attributes = map[string]types.MessageAttributeValue

var messageAttributeRefusals = []Check{
	refuses("eleven", "A message has ten attributes at most.", map[string]attributes{
		"eleven attributes": attributeNames("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"),
	}).recorded(quoted("2026-08-25", "siutsin/telegram-jung2-bot/pull/3134")),
	refuses("name-characters", "Attribute names have letters, digits, underscores, hyphens and periods only, 256 at most.", map[string]attributes{
		"a space in a name":    attributeNames("a b"),
		"a slash in a name":    attributeNames("a/b"),
		"an asterisk as name":  attributeNames("*"),
		"a name of 257 letter": attributeNames(strings.Repeat("n", 257)),
	}),
	refuses("name-prefixes", "Attribute names do not begin with AWS. or Amazon., in any casing.", map[string]attributes{
		"the name AWS.trace":    attributeNames("AWS.trace"),
		"the name aws.trace":    attributeNames("aws.trace"),
		"the name Amazon.trace": attributeNames("Amazon.trace"),
		"the name aMaZoN.trace": attributeNames("aMaZoN.trace"),
	}),
	refuses("name-periods", "Attribute names have no period first, last or twice in a row.", map[string]attributes{
		"the name .a":   attributeNames(".a"),
		"the name a.":   attributeNames("a."),
		"the name a..b": attributeNames("a..b"),
	}),
	refuses("empty", "Name, type and value of an attribute are not empty.", map[string]attributes{
		"an empty name":         attributeNames(""),
		"an empty type":         {"a": typed("", "value")},
		"an empty text":         {"a": text("")},
		"an empty number":       {"a": typed("Number", "")},
		"no value":              {"a": {DataType: aws.String("String")}},
		"a Binary without bits": {"a": {DataType: aws.String("Binary")}},
	}),
	refuses("types", "An attribute's type is String, Number or Binary, with a label or without, and case-sensitive.", map[string]attributes{
		"the type Integer":             {"a": typed("Integer", "1")},
		"the type string":              {"a": typed("string", "a")},
		"a type of 257 characters":     {"a": typed("String."+strings.Repeat("x", 250), "a")},
		"a control character in value": {"a": text("\x01")},
	}).recorded(quoted("2023-10-03", "grafana/k6-jslib-aws/pull/65: a type that does not exist")),
	refuses("value-kinds", "A Binary has bytes and no text, a String text and no bytes.", map[string]attributes{
		"a text of type Binary": {"a": typed("Binary", "a")},
		"bytes of type String":  {"a": binary("String", 1)},
	}).reading(),
	refuses("numbers", "The value of a Number is checked to be one.", map[string]attributes{
		"the number abc":  {"a": typed("Number", "abc")},
		"the number 1,5":  {"a": typed("Number", "1,5")},
		"the number 1 2":  {"a": typed("Number", "1 2")},
		"the number 0x1f": {"a": typed("Number.int", "0x1f")},
	}),
	refuses("lists", "Values that are lists are not implemented.", map[string]attributes{
		"a list of texts": {"a": {DataType: aws.String("String"), StringListValues: []string{"x"}}},
		"a list of bytes": {"a": {DataType: aws.String("Binary"), BinaryListValues: [][]byte{{1}}}},
	}).recorded(quoted("2024-06-04", "ruby-shoryuken/shoryuken/issues/769")),
}

func md5Of(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// digest returns the MD5 of message attributes by the developer guide: sorted by name, the
// length and bytes of name, type and value, with a byte for the transport type before the
// value.
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

// digestCheck returns a check of the digests in the answers to a send and a receive.
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
