package settle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// origin is what a dead letter's attribute says.
func (f *fixture) origin(m types.Message) partialfailure.Origin {
	f.t.Helper()
	a := m.MessageAttributes[partialfailure.OriginAttribute]
	o, err := partialfailure.ParseOrigin(aws.ToString(a.StringValue))
	if err != nil || *a.DataType != "String" {
		f.t.Errorf("the dead letter's attribute is %q of type %v: %v", aws.ToString(a.StringValue), aws.ToString(a.DataType), err)
	}
	return o
}

func permanent(text string) batch.HandlerFunc {
	return func(context.Context, batch.Record) error { return batch.Permanent(errors.New(text)) }
}

// The whole of it, as tools and people find it in the queue.
func TestDeadLetter_SaysWhereItCameFrom(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.Name = "ship-orders"
		f.Send("x")
		first := time.Now()
		f.invoke(f.Receive(10), func(context.Context, batch.Record) error { return batch.RetryAfter(time.Minute, errors.New("busy")) })
		time.Sleep(time.Hour)
		records := f.Receive(10)
		began := time.Now()
		f.invoke(records, func(context.Context, batch.Record) error {
			time.Sleep(1500 * time.Millisecond)
			return batch.Permanent(errors.New(`no <such> "SKU"`))
		})
		dead := f.DeadLetters()
		if len(dead) != 1 || *dead[0].MessageId == records[0].MessageID || len(f.warnings) > 0 {
			t.Fatalf("%d dead letters, warnings %q", len(dead), f.warnings)
		}
		const form = "2006-01-02T15:04:05.999Z07:00"
		want := fmt.Sprintf(`{"v":1,"reason":"no <such> \"SKU\"","messageId":%q,"attempts":2,"firstReceived":%q,"failedAt":%q,"queue":%q,"by":"ship-orders"}`,
			records[0].MessageID, first.UTC().Format(form), began.Add(1500*time.Millisecond).UTC().Format(form), f.ARN)
		if got := *dead[0].MessageAttributes["sqsbatch"].StringValue; got != want {
			t.Errorf("the attribute is\n%s, want\n%s", got, want)
		}
		if o := f.origin(dead[0]); o.MessageID != records[0].MessageID || !o.FirstReceived.Equal(first.Truncate(time.Millisecond)) || o.By != "ship-orders" {
			t.Errorf("it is read as %+v", o)
		}
	})
}

// What is not known is left out.
func TestOriginWithUnknownFields_LeavesThemOut(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("x")
		records := f.Receive(10)
		records[0].FirstReceivedAt, records[0].Attempt = time.Time{}, 0
		f.invoke(records, permanent("no"))
		got := *f.DeadLetters()[0].MessageAttributes["sqsbatch"].StringValue
		if strings.Contains(got, "firstReceived") || strings.Contains(got, "by") || !strings.Contains(got, `"attempts":0`) {
			t.Errorf("the attribute is %s", got)
		}
	})
}

func TestLongReason_IsCutToFit(t *testing.T) {
	for name, text := range map[string]string{
		"short":                "no",
		"long":                 strings.Repeat("é", 2000),
		"all of it is escaped": strings.Repeat("\"\\\n", 2000),
		"line separators":      strings.Repeat("\u2028", 2000),
		"not in SQS":           "bell \a, escape \x1b[31m, \uFFFE\uFFFF\U0010FFFF" + strings.Repeat("\x00", 3000),
		"no UTF-8":             strings.Repeat("\x80", 3000),
		"cut in a character":   "a" + strings.Repeat("\U0001F4E6", 1000),
		"none":                 "",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.settling.Name = "worker\uFFFE\x80"
				f.Send("x")
				f.invoke(f.Receive(10), permanent(text))
				dead := f.DeadLetters()
				if len(dead) != 1 {
					t.Fatalf("%d dead letters, warnings %q", len(dead), f.warnings)
				}
				value := *dead[0].MessageAttributes["sqsbatch"].StringValue
				size := len(value) + len("sqsbatch") + len("String")
				if size > 1024 || !utf8.ValidString(value) || !json.Valid([]byte(value)) || strings.ContainsAny(value, "\uFFFE\uFFFF\a\x1b") {
					t.Errorf("%d bytes: %q", size, value)
				}
				reason := f.origin(dead[0]).Reason
				whole := strings.ToValidUTF8(text, "\uFFFD")
				if len(text) > 2000 && size < 1000 {
					t.Errorf("cut to %d bytes, there was room for 1024", size)
				}
				clean := strings.Map(func(r rune) rune {
					if r != '\n' && unicode.IsControl(r) || r == '\uFFFE' || r == '\uFFFF' {
						return '\uFFFD'
					}
					return r
				}, whole)
				if name != "no UTF-8" && !strings.HasPrefix(clean, reason) || (reason == "") != (text == "") {
					t.Errorf("the reason is %q", reason)
				}
			})
		})
	}
}

// A message that has no room for it goes without, and the log says which.
func TestNoRoomForOrigin_IsLeftOutWithAWarning(t *testing.T) {
	text := func(value string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	ten := map[string]types.MessageAttributeValue{}
	for i := range 10 {
		ten[fmt.Sprintf("a%d", i)] = text("x")
	}
	nine := maps.Clone(ten)
	delete(nine, "a9")
	redriven := maps.Clone(nine)
	redriven["sqsbatch"] = text(`{"v":1,"reason":"an earlier one"}`)
	longer := map[string]types.MessageAttributeValue{"sqsbatch": text(strings.Repeat("x", 1000))}
	short := map[string]types.MessageAttributeValue{"sqsbatch": text("x")}
	bytes := map[string]types.MessageAttributeValue{"b": {DataType: aws.String("Binary"), BinaryValue: make([]byte, 1000)}}
	const (
		all  = 1 << 20
		room = 1024 // for the longest
	)
	body := func(size int) *string { return aws.String(strings.Repeat("x", size-6) + ":never") }
	for name, c := range map[string]struct {
		in     awssqs.SendMessageInput
		reason string // of what there is; "" if there is nothing
	}{
		"nine attributes":                  {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: nine}, "no such thing"},
		"ten attributes":                   {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: ten}, ""},
		"nine, and an earlier one":         {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: redriven}, "no such thing"},
		"a body of 1 MiB":                  {awssqs.SendMessageInput{MessageBody: body(all)}, ""},
		"a body that leaves 1 KB":          {awssqs.SendMessageInput{MessageBody: body(all - room)}, "no such thing"},
		"a body that leaves 100 bytes":     {awssqs.SendMessageInput{MessageBody: body(all - 100)}, ""},
		"binary attributes count":          {awssqs.SendMessageInput{MessageBody: body(all - room), MessageAttributes: bytes}, ""},
		"an earlier one makes place":       {awssqs.SendMessageInput{MessageBody: body(all - room), MessageAttributes: longer}, "no such thing"},
		"an earlier one makes less than 1": {awssqs.SendMessageInput{MessageBody: body(all - 20), MessageAttributes: short}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.SendInput(&c.in)
				records := f.Receive(10)
				results := f.invoke(records, byBody)
				dead := f.DeadLetters()
				if results[0].Outcome != batch.DeadLettered || len(dead) != 1 || *dead[0].Body != *c.in.MessageBody {
					t.Fatalf("%v, %d dead letters, warnings %q", results[0].Outcome, len(dead), f.warnings)
				}
				for name, a := range c.in.MessageAttributes {
					if got := dead[0].MessageAttributes[name]; name != "sqsbatch" && (aws.ToString(got.StringValue) != aws.ToString(a.StringValue) || !slices.Equal(got.BinaryValue, a.BinaryValue)) {
						t.Errorf("the attribute %s became %v", name, got)
					}
				}
				_, has := dead[0].MessageAttributes["sqsbatch"]
				switch {
				case c.reason != "":
					if o := f.origin(dead[0]); o.Reason != c.reason || o.MessageID != records[0].MessageID {
						t.Errorf("the origin is %+v", o)
					}
					if len(f.warnings) > 0 {
						t.Errorf("warnings %q", f.warnings)
					}
				case has:
					t.Errorf("the dead letter has the attribute %v", dead[0].MessageAttributes["sqsbatch"])
				default:
					f.warnedOnce("has no attribute sqsbatch")
					if !slices.Equal(f.warnedOf, []string{records[0].MessageID}) {
						t.Errorf("the warning is of %q, want %s", f.warnedOf, records[0].MessageID)
					}
				}
			})
		})
	}
}

// The reason takes what a message leaves, to the byte.
func TestLongReason_FillsTheRoomLeft(t *testing.T) {
	sizes := map[int]bool{}
	for left := 210; left < 420; left += 30 {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send(strings.Repeat("x", 1<<20-left))
			f.invoke(f.Receive(10), permanent(strings.Repeat("r", 5000)))
			dead := f.DeadLetters()
			if len(dead) != 1 {
				t.Fatalf("%d bytes left: %d dead letters, warnings %q", left, len(dead), f.warnings)
			}
			a, has := dead[0].MessageAttributes["sqsbatch"]
			if has != (len(f.warnings) == 0) {
				t.Errorf("%d bytes left: the attribute is there: %v, warnings %q", left, has, f.warnings)
			}
			if has && len("sqsbatch")+len("String")+len(*a.StringValue) != left {
				t.Errorf("%d bytes left: %d taken", left, len("sqsbatch")+len("String")+len(*a.StringValue))
			}
			sizes[len(aws.ToString(a.StringValue))] = true
		})
	}
	if !sizes[0] || len(sizes) < 4 {
		t.Errorf("lengths are %v: some should have no room, many some", sizes)
	}
}

// Moved back and failed again, a message says why it failed the second time.
func TestRecordDeadLetteredAgain_OverwritesItsOrigin(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("x")
		f.invoke(f.Receive(10), permanent("first"))
		dead := f.DeadLetters()[0]
		f.SendInput(&awssqs.SendMessageInput{MessageBody: dead.Body, MessageAttributes: dead.MessageAttributes})
		if _, err := f.Client.DeleteMessage(context.Background(), &awssqs.DeleteMessageInput{QueueUrl: &f.DeadLetterURL, ReceiptHandle: dead.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		again := slices.DeleteFunc(f.Receive(10), func(r batch.Record) bool { return r.MessageAttributes == nil })
		f.invoke(again, permanent("second"))
		list := f.DeadLetters()
		if len(list) != 1 {
			t.Fatalf("%d dead letters", len(list))
		}
		if o := f.origin(list[0]); o.Reason != "second" || o.MessageID != again[0].MessageID || len(list[0].MessageAttributes) != 1 {
			t.Errorf("the origin is %+v of %d attributes", o, len(list[0].MessageAttributes))
		}
	})
}

// A body that cannot be decoded is not in the reason, neither its values nor the
// keys of its maps.
func TestMalformedBody_OriginQuotesNoneOfIt(t *testing.T) {
	type order struct {
		N int            `json:"n"`
		M map[string]int `json:"m"`
	}
	for _, body := range []string{`{"n":"alice@example.com"}`, `{"m":{"alice@example.com":"x"}}`, `alice@example.com`, `{"alice@example.com":`, `{"n":1} alice@example.com`} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send(body)
			f.invoke(f.Receive(10), batch.JSON(func(context.Context, order) error { return nil }).Handle)
			dead := f.DeadLetters()
			if len(dead) != 1 {
				t.Fatalf("%s: %d dead letters", body, len(dead))
			}
			if value := *dead[0].MessageAttributes["sqsbatch"].StringValue; strings.Contains(value, "alice") || !strings.Contains(value, `"reason":"malformed body: `) {
				t.Errorf("%s: %s", body, value)
			}
		})
	}
}

// A send that fails may have sent the dead letter. It is made again: on a standard queue both
// dead letters say of which message they are, a FIFO queue keeps one, and those behind the record
// are handled.
func TestSendMayHaveHappened_IsMadeAgain(t *testing.T) {
	for _, fault := range []sqs.Fault{{Kind: sqs.LostAnswer}, {Kind: sqs.Failure, CarriedOut: true}, {Kind: sqs.EntryFailure, CarriedOut: true}} {
		fault.Operation, fault.Times = opSend, 1
		for fifo, want := range map[bool]int{standardQueue: 2, fifoQueue: 1} {
			inBubble(t, fifo, func(f *fixture) {
				f.Send("a:never", "a:1", "a:2")
				if err := f.Server().Inject(fault); err != nil {
					t.Fatal(err)
				}
				f.deliver(1)
				dead := f.DeadLetters()
				if len(dead) != want {
					t.Fatalf("%s, FIFO %v: %d dead letters, want %d", fault.Kind, fifo, len(dead), want)
				}
				for _, m := range dead {
					if o := f.origin(m); *m.Body != "a:never" || o.MessageID != f.Events(sqs.Sent)[0].MessageID {
						t.Errorf("%s, FIFO %v: %s with the origin %+v", fault.Kind, fifo, *m.Body, o)
					}
				}
				if got := fmt.Sprint(f.handled); fifo && got != "[a:never at 1 a:1 at 1 a:2 at 1]" {
					t.Errorf("%s: handled %s", fault.Kind, got)
				}
			})
		}
	}
}

func TestParseOriginRefusesWhatItDoesNotKnow(t *testing.T) {
	for value, want := range map[string]string{
		``:                                     "was not written by sqsbatch",
		`no such customer`:                     "was not written by sqsbatch",
		`{"v":1,"attempts":"2"}`:               "was not written by sqsbatch",
		`{}`:                                   "has version 0, must be 1",
		`{"v":2,"reason":"r"}`:                 "has version 2, must be 1",
		`{"v":1,"messageId":"m","later":true}`: "",
	} {
		o, err := partialfailure.ParseOrigin(value)
		if want == "" && (err != nil || o.MessageID != "m") || want != "" && (err == nil || !strings.Contains(err.Error(), want) || o != (partialfailure.Origin{})) {
			t.Errorf("%s: %+v, %v", value, o, err)
		}
	}
}
