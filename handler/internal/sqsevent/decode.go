// Package sqsevent decodes the event that Lambda gives to a function with an
// SQS queue as its event source.
//
// It reads the payload once, without reflection and without a value for
// anything that is not needed. The records' strings are parts of one copy of
// the payload: aws-lambda-go uses the payload's own memory again for the next
// invocation, while a handler that was abandoned may still read its record. A
// record that is kept therefore keeps the copy of its whole batch.
package sqsevent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

// Decode returns the records of an SQS event. It returns an error when the
// payload is not valid JSON, is no SQS event, or has a record that could not
// be reported as failed (one without messageId): such an event must fail as a
// whole.
func Decode(payload []byte) ([]batch.Record, error) {
	d := decoder{scanner: scanner{src: string(payload)}}
	if err := d.event(); err != nil {
		return nil, err
	}
	return d.records, nil
}

type decoder struct {
	scanner
	records []batch.Record
}

var errNoRecords = errors.New("it has no Records")

func (d *decoder) event() error {
	if d.peek() != '{' {
		if err := d.skip(); err != nil {
			return err
		}
		return errNoRecords
	}
	seen := false
	err := d.object(func(key string) error {
		if key != "Records" {
			return d.skip()
		}
		seen = true
		d.records = d.records[:0]
		if d.peek() != '[' {
			return fmt.Errorf("its Records are no list, at offset %d", d.pos)
		}
		return d.array(d.record)
	})
	if err != nil {
		return err
	}
	if d.peek() != 0 || d.pos < len(d.src) {
		return d.unexpected("the end")
	}
	if !seen {
		return errNoRecords
	}
	return nil
}

func (d *decoder) record() error {
	start := d.pos
	n := len(d.records)
	d.records = append(d.records, batch.Record{})
	r := &d.records[n]
	source := ""
	if d.peek() != '{' {
		return fmt.Errorf("Records[%d] is no object, at offset %d", n, d.pos)
	}
	err := d.object(func(key string) error {
		switch key {
		case "messageId":
			return d.text(key, &r.MessageID)
		case "receiptHandle":
			return d.text(key, &r.ReceiptHandle)
		case "body":
			return d.text(key, &r.Body)
		case "md5OfBody":
			return d.text(key, &r.MD5OfBody)
		case "md5OfMessageAttributes":
			return d.text(key, &r.MD5OfMessageAttributes)
		case "eventSourceARN":
			return d.text(key, &r.QueueARN)
		case "awsRegion":
			return d.text(key, &r.Region)
		case "eventSource", "EventSource": // SNS writes it with a capital
			return d.text(key, &source)
		case "attributes":
			return d.attributes(r)
		case "messageAttributes":
			return d.messageAttributes(r)
		default:
			return d.skip()
		}
	})
	if err != nil {
		return fmt.Errorf("Records[%d]: %w", n, err)
	}
	if source != "" && source != "aws:sqs" {
		return fmt.Errorf("Records[%d] comes from %q, not from aws:sqs", n, source)
	}
	if r.MessageID == "" {
		return fmt.Errorf("Records[%d] has no messageId", n)
	}
	if n == 0 {
		// Records of a batch are much alike: room for all of them at once.
		d.records = slices.Grow(d.records, min((len(d.src)-d.pos)/(d.pos-start), 10_000))
	}
	return nil
}

func (d *decoder) attributes(r *batch.Record) error {
	return d.objectOrNull("attributes", func(key string) error {
		var value string
		if err := d.text(key, &value); err != nil {
			return err
		}
		attribute.Set(r, key, value)
		return nil
	})
}

func (d *decoder) messageAttributes(r *batch.Record) error {
	return d.objectOrNull("messageAttributes", func(name string) error {
		var a batch.MessageAttribute
		err := d.objectOrNull(name, func(key string) error {
			switch key {
			case "dataType":
				return d.text(key, &a.DataType)
			case "stringValue":
				return d.text(key, &a.StringValue)
			case "binaryValue":
				return d.binary(key, &a.BinaryValue)
			default: // the list values, which SQS does not have yet
				return d.skip()
			}
		})
		if err != nil {
			return fmt.Errorf("messageAttributes %q: %w", name, err)
		}
		if r.MessageAttributes == nil {
			r.MessageAttributes = make(map[string]batch.MessageAttribute)
		}
		r.MessageAttributes[name] = a
		return nil
	})
}

// text reads a string into to; null leaves it as it is.
func (d *decoder) text(key string, to *string) error {
	switch d.peek() {
	case '"':
		s, err := d.str()
		*to = s
		return err
	case 'n':
		return d.skip()
	default:
		return fmt.Errorf("%s is no string, at offset %d", key, d.pos)
	}
}

func (d *decoder) binary(key string, to *[]byte) error {
	var s string
	if err := d.text(key, &s); err != nil || s == "" {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return fmt.Errorf("%s is not base64: %w", key, err)
	}
	*to = b
	return nil
}

func (d *decoder) objectOrNull(key string, member func(key string) error) error {
	switch d.peek() {
	case '{':
		return d.object(member)
	case 'n':
		return d.skip()
	default:
		return fmt.Errorf("%s is no object, at offset %d", key, d.pos)
	}
}
