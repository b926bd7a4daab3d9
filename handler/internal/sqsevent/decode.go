// Package sqsevent decodes the event that Lambda sends to a function with an SQS queue as
// its event source.
//
// It reads the payload once, without reflection, and creates no values for unused parts. The
// records' strings point into one copy of the payload. The copy is necessary: aws-lambda-go
// reuses the payload's memory for the next invocation, while an abandoned handler may still read
// its record. The cost: each record in memory keeps the copy of its whole batch.
package sqsevent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// Decode returns the records of an SQS event. It returns an error if the payload is not
// valid JSON, is not an SQS event, or has a record that could not be reported as failed
// (one without messageId). Such an event must fail as a whole.
func Decode(payload []byte) ([]batch.Record, error) {
	d := decoder{Scanner: *plainjson.NewOwner(bytes.Clone(payload)), size: len(payload)}
	ok := d.Members(d.event) && d.End()
	switch {
	case !ok && !utf8.Valid(payload): // replace each byte that is not UTF-8 by U+FFFD, like encoding/json
		return Decode([]byte(string([]rune(string(payload)))))
	case d.err != nil:
		return nil, d.err
	case ok && d.records != nil:
		return d.records, nil
	case ok || json.Valid(payload):
		return nil, errors.New("it has no Records")
	default:
		return nil, fmt.Errorf("it is not valid JSON, at offset %d of %d", d.Pos, len(payload))
	}
}

type decoder struct {
	plainjson.Scanner
	size    int            // of the payload, in bytes
	records []batch.Record // nil until Records was read, even if empty
	err     error          // nil if the only error is invalid JSON
}

// fail sets the error. It returns false, which ends the scan.
func (d *decoder) fail(format string, args ...any) bool {
	d.err = fmt.Errorf(format, args...)
	return false
}

func (d *decoder) event(name string) bool {
	if name != "Records" {
		return d.Skip()
	}
	d.records = []batch.Record{}
	if d.Peek() != '[' {
		return d.fail("its Records are not a list, at offset %d", d.Pos)
	}
	return d.List(d.record)
}

func (d *decoder) record() bool {
	n := len(d.records)
	if d.Peek() != '{' {
		return d.fail("Records[%d] is not an object, at offset %d", n, d.Pos)
	}
	start := d.Pos
	d.records = append(d.records, batch.Record{})
	r := &d.records[n]
	source := ""
	ok := d.Members(func(name string) bool {
		switch name {
		case "messageId":
			return d.string(name, &r.MessageID)
		case "receiptHandle":
			return d.string(name, &r.ReceiptHandle)
		case "body":
			return d.string(name, &r.Body)
		case "md5OfBody":
			return d.string(name, &r.MD5OfBody)
		case "md5OfMessageAttributes":
			return d.string(name, &r.MD5OfMessageAttributes)
		case "eventSourceARN":
			return d.string(name, &r.QueueARN)
		case "awsRegion":
			return d.string(name, &r.Region)
		case "eventSource", "EventSource": // SNS writes it with a capital letter
			return d.string(name, &source)
		case "attributes":
			return d.object(name, func(key string) bool {
				var value string
				ok := d.string(key, &value)
				attribute.Set(r, key, value)
				return ok
			})
		case "messageAttributes":
			return d.messageAttributes(r)
		default:
			return d.Skip()
		}
	})
	switch {
	case d.err != nil:
		return d.fail("Records[%d]: %w", n, d.err)
	case !ok:
		return false
	case source != "" && source != "aws:sqs":
		return d.fail("Records[%d] comes from %q, not from aws:sqs", n, source)
	case r.MessageID == "":
		return d.fail("Records[%d] has no messageId", n)
	case n > 0:
		if first := d.records[0].QueueARN; r.QueueARN == first {
			r.QueueARN = first // of all records: this one is in the cache
		}
	default:
		// Records of a batch have similar sizes: make room for all of them at once.
		d.records = slices.Grow(d.records, min((d.size-d.Pos)/(d.Pos-start), 10_000))
	}
	return true
}

func (d *decoder) messageAttributes(r *batch.Record) bool {
	return d.object("messageAttributes", func(name string) bool {
		var a batch.MessageAttribute
		ok := d.object(name, func(key string) bool {
			switch key {
			case "dataType":
				return d.string(key, &a.DataType)
			case "stringValue":
				return d.string(key, &a.StringValue)
			case "binaryValue":
				return d.binary(key, &a.BinaryValue)
			default: // list values, which SQS does not support yet
				return d.Skip()
			}
		})
		if d.err != nil {
			return d.fail("messageAttributes %q: %w", name, d.err)
		}
		if r.MessageAttributes == nil {
			r.MessageAttributes = make(map[string]batch.MessageAttribute)
		}
		r.MessageAttributes[name] = a
		return ok
	})
}

// object reads an object or null.
func (d *decoder) object(name string, member func(name string) bool) bool {
	if d.Peek() == '{' {
		return d.Members(member)
	}
	return d.null() || d.fail("%s is not an object, at offset %d", name, d.Pos)
}

// string reads a string into to. null leaves to unchanged.
func (d *decoder) string(name string, to *string) (ok bool) {
	if d.Peek() == '"' {
		*to, ok = d.Text()
		return ok
	}
	return d.null() || d.fail("%s is not a string, at offset %d", name, d.Pos)
}

func (d *decoder) binary(name string, to *[]byte) (ok bool) {
	var s string
	if ok = d.string(name, &s); s == "" {
		return ok
	}
	var err error
	if *to, err = base64.StdEncoding.DecodeString(s); err != nil {
		return d.fail("%s is not base64: %w", name, err)
	}
	return true
}

func (d *decoder) null() bool { return d.Peek() == 'n' && d.Skip() }
