package letter_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

func shown(t interface{ Fatal(...any) }, l *letter.Letter, terminal view.Terminal) string {
	var out strings.Builder
	if err := letter.Show(show.To(&out), l, now, terminal); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestShow(t *testing.T) {
	l := order()
	l.Queue, l.TraceHeader, l.Origin.By = deadARN, "Root=1", "orders-prod"
	value, _ := l.Origin.Value(1024)
	l.Attributes[partialfailure.OriginAttribute] = batch.MessageAttribute{DataType: "String", StringValue: value}
	l.Attributes["note"] = batch.MessageAttribute{DataType: "String", StringValue: "two\nlines\x1b[2J"}
	l.Attributes["raw"] = batch.MessageAttribute{DataType: "Binary.png", BinaryValue: []byte("\x89PNG\r\n\x1a\n 0123456789")}
	want := `message         dead-1
from            arn:aws:sqs:eu-west-1:111122223333:orders
sent            2026-11-22 09:00:00 UTC (3h 0m ago)
first received  2026-11-22 10:00:00 UTC (2h 0m ago)
receives        3
group           g-1
trace           Root=1
reason          no customer 17
failed          2026-11-22 11:00:00 UTC (1h 0m ago) after 5 attempts
in              orders-prod
original id     first-1

attributes
  cents   +0150 (Number.EUR)
  note    two lines\u001b[2J
  raw     Binary.png of 19 bytes: 89 50 4e 47 0d 0a 1a 0a 20 30 31 32 33 34 35 36 …
  tenant  alice (String.name)

body, 80 bytes
  {
    "customer": 9007199254740993,
    "price": 1.50,
    "tags": [
      "a",
      "b"
    ],
    "note": "<b>"
  }

`
	if got := shown(t, l, view.Terminal{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := shown(t, l, view.Terminal{Colour: true}); !strings.Contains(got, "\x1b[31mno customer 17\x1b[0m") {
		t.Errorf("no colour: %q", got)
	}
}

// Envelopes are opened, however they are nested. What cannot be opened is shown as it is.
func TestShowEnvelopes(t *testing.T) {
	quote := func(text string) string {
		data, _ := json.Marshal(text)
		return string(data)
	}
	notification := func(body string) string {
		return `{"Type": "Notification", "MessageId": "m-1", "TopicArn": "arn:aws:sns:eu-west-1:1:orders", "Subject": "new", "MessageAttributes": {"tier": {"Type": "Number", "Value": "2"}},
			"Timestamp": "2026-11-22T08:00:00.000Z", "Message": ` + quote(body) + `}`
	}
	event := `{"version": "0", "id": "e-1", "detail-type": "OrderPlaced", "source": "shop", "account": "1", "time": "2026-11-22T08:00:00Z",
		"region": "eu-west-1", "resources": ["arn:a"], "detail": {"id": 7}}`
	pointer := `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"big","s3Key":"a/b\u001b"}]`
	compressed := sender.Text(notification(event))
	if err := encoded.Prepare(t.Context(), &compressed); err != nil {
		t.Fatal(err)
	}
	coding := compressed.Attributes[encoded.Attribute].StringValue
	for name, tt := range map[string]struct {
		body, coding string
		want         []string
	}{
		"SNS":           {notification("paid\r\n\x1b7"), "", []string{"SNS notification\n", "topic           arn:aws:sns:eu-west-1:1:orders\n", "subject         new\n", "attribute tier  2 (Number)\n", "published       2026-11-22 08:00:00 UTC\n", "body, 8 bytes\n  paid\n  \\u001b7\n"}},
		"event":         {event, "", []string{"EventBridge event\n", "type       OrderPlaced\n", "resources  arn:a\n", "body, 9 bytes\n  {\n    \"id\": 7\n  }\n"}},
		"all of them":   {compressed.Body, coding, []string{"encoded body\n", coding, "SNS notification\n", "EventBridge event\n", "body, 9 bytes\n  {\n    \"id\": 7\n  }\n"}},
		"not gzip":      {"paid", "gzip", []string{"it cannot be opened: ", "\n  paid\n"}},
		"an unknown":    {"paid", "zstd", []string{"it cannot be opened: ", "zstd", "\n  paid\n"}},
		"in S3":         {pointer, "", []string{`the body is stored in S3, in s3://big/a/b\u001b; it was not fetched`}},
		"in S3 by SNS":  {notification(pointer), "", []string{"SNS notification\n", "s3://big/"}},
		"a subscriber":  {`{"Type": "SubscriptionConfirmation", "MessageId": "m", "TopicArn": "arn:aws:sns:r:1:t", "Message": "x", "Token": "t"}`, "", []string{"it cannot be opened: ", `"Token": "t"`}},
		"nothing in it": {"", "", []string{"body, 0 bytes\n"}},
	} {
		l := moved(tt.body)
		if tt.coding != "" {
			l.Attributes = map[string]batch.MessageAttribute{encoded.Attribute: {DataType: "String", StringValue: tt.coding}}
		}
		got := shown(t, l, view.Terminal{})
		golden.Says(t, name, got, tt.want...)
	}
}

// No text of a letter controls the terminal, whichever part of the letter has it.
func TestShowIsPlain(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\\x00-\\x1f\\x7f\u0080-\u009f\u202e\u2066a\"{}]{0,12}"))
	rapid.Check(t, func(t *rapid.T) {
		l := order()
		l.ID, l.Body, l.GroupID, l.DeduplicationID = text.Draw(t, "id"), text.Draw(t, "body"), text.Draw(t, "group"), text.Draw(t, "dedup")
		l.Queue, l.Source, l.TraceHeader = text.Draw(t, "queue"), text.Draw(t, "source"), text.Draw(t, "trace")
		l.Origin.Reason, l.Origin.By, l.Origin.MessageID = text.Draw(t, "reason"), text.Draw(t, "by"), text.Draw(t, "message")
		l.Attributes[text.Draw(t, "name")] = batch.MessageAttribute{DataType: text.Draw(t, "type"), StringValue: text.Draw(t, "value")}
		var stats strings.Builder
		s, err := letter.NewStats(rapid.SampledFrom([]string{"reason", "shape", "source", ".text"}).Draw(t, "by"), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(l, now); err != nil {
			t.Fatal(err)
		}
		if err := s.Report(now).Text(&stats, view.Terminal{Width: func() int { return 50 }}); err != nil {
			t.Fatal(err)
		}
		changed := *l
		changed.Body += "\x1b\u202e"
		for _, out := range []string{shown(t, l, view.Terminal{}), stats.String(), letter.Diff(*l, changed)} {
			for _, r := range out {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
					t.Fatalf("%U in %q", r, out)
				}
			}
		}
	})
}

// A value that is nested deeply would take gigabytes when it is indented.
func TestDeepBodies_TakeLittleMemory(t *testing.T) {
	for name, middle := range map[string]string{"many values": strings.Repeat("0,", 400_000) + "0", "few": "0"} {
		l := *order()
		l.Body = strings.Repeat("[", 9000) + middle + strings.Repeat("]", 9000)
		other := l
		other.Body = strings.Replace(l.Body, "0", "1", 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		size := len(shown(t, &l, view.Terminal{})) + len(letter.Editable(l)) + len(letter.Diff(l, other))
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; size > 8<<20 || took > 150 {
			t.Errorf("%s: %d bytes of output took %d MiB", name, size, took)
		}
	}
}
