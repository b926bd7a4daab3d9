package letter_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestShape(t *testing.T) {
	sns := func(message string) string {
		text, _ := json.Marshal(message)
		return `{"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:orders", "Message": ` + string(text) + `}`
	}
	for body, want := range map[string]string{
		"":       "empty",
		" \n":    "empty",
		"paid 7": "text",
		`{"a":`:  "text",
		` {"id": 1, "customer": {"x": 1}, "items": []} `: "{customer,id,items}",
		"{}":                       "{}",
		"[1, 2]":                   "JSON array",
		`"x"`:                      "JSON string",
		"17":                       "JSON number",
		"true":                     "JSON boolean",
		"null":                     "JSON null",
		"{\"a\\u001b[2J\": 1}":     `{a\u001b[2J}`,
		sns(`{"id": 1}`):           "SNS orders {id}",
		sns("paid"):                "SNS orders text",
		sns(sns(sns(sns("deep")))): "SNS orders SNS orders SNS orders {Message,MessageId,TopicArn,Type}",
		`{"Type": "Notification", "TopicArn": "arn:x", "Message": "own"}`:                             "{Message,TopicArn,Type}",
		`{"detail-type": "OrderPlaced", "source": "shop", "detail": {}}`:                              "EventBridge OrderPlaced",
		`{"detail-type": "OrderPlaced"}`:                                                              "{detail-type}",
		`{"Records": [{"eventSource": "aws:s3", "s3": {}}]}`:                                          "S3 notification",
		`{"Service": "Amazon S3", "Event": "s3:TestEvent"}`:                                           "S3 notification",
		`{"Records": [{"eventSource": "aws:sqs"}]}`:                                                   "{Records}",
		`["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "b", "s3Key": "k"}]`: "body in S3",
		`{"` + strings.Repeat("k", 50) + `": 1, "` + strings.Repeat("l", 50) + `": 2}`:                "{" + strings.Repeat("k", 50) + ",llllllll…}",
	} {
		if got := letter.Shape(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func failed(id, reason string, at time.Time) *letter.Letter {
	return &letter.Letter{ID: id, Sent: at.Add(-time.Hour), Origin: &partialfailure.Origin{Reason: reason, FailedAt: at, Queue: ordersARN}}
}

// stats counts letters.
func stats(t *testing.T, by string, retention time.Duration, fifo bool, letters ...*letter.Letter) *letter.Stats {
	t.Helper()
	s := must(letter.NewStats(by, retention, fifo))
	for _, l := range letters {
		if err := s.Add(l, now); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestStats(t *testing.T) {
	s := stats(t, "", 4*24*time.Hour, false,
		failed("1", "no customer 17", now.Add(-3*time.Hour)),
		failed("2", "no customer 18", now.Add(-5*time.Hour)),
		failed("3", "timeout", now),
		moved("paid 7"),
		&letter.Letter{ID: "5"},
	)
	got, err := json.MarshalIndent(s.Report(now), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "stats.json", string(got)+"\n")
}

func TestStatsExpiring(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		var letters []*letter.Letter
		for i, left := range []time.Duration{-time.Minute, time.Hour, time.Hour + 1, 24 * time.Hour} {
			letters = append(letters, &letter.Letter{ID: fmt.Sprint(i), Sent: now.Add(left - 24*time.Hour)})
		}
		s := stats(t, "shape", 24*time.Hour, fifo, letters...)
		want := letter.Expiring{Within1h: 2, Within1d: 2, First: now.Add(-time.Minute), FirstID: "0", AtTheEarliest: fifo}
		if got := s.Report(now).Expiring; *got != want {
			t.Errorf("got %+v", got)
		}
		if text := reportText(t, s.Report(now), 0); strings.Contains(text, "at the earliest") != fifo {
			t.Error(text)
		}
	}
	if e := stats(t, "shape", 0, false, order()).Report(now).Expiring; e != nil {
		t.Errorf("an unknown retention: %+v", e)
	}
	if e := stats(t, "shape", 14*24*time.Hour, false, order()).Report(now).Expiring; e.Later != 1 {
		t.Errorf("14 days: %+v", e)
	}
}

func TestStatsBy(t *testing.T) {
	for by, want := range map[string]string{
		"":               "no customer N",
		"reason":         "no customer N",
		"shape":          "{customer,note,price,tags}",
		"source":         "orders",
		"hour":           "2026-11-22 11:00",
		`.body.tags[0]`:  "a",
		`.body.tags`:     `["a","b"]`,
		`.body.customer`: "9007199254740993",
		`.body.missing`:  "(none)",
		`empty`:          "(none)",
		`"x" * 300`:      strings.Repeat("x", 199) + "…",
	} {
		if groups := stats(t, by, 0, false, order()).Report(now).Groups; groups[0].Name != want {
			t.Errorf("%s: %+v", by, groups)
		}
	}
	for by, want := range map[string]string{"source": "(unknown source)", "hour": "(unknown time)", "reason": "empty"} {
		if groups := stats(t, by, 0, false, &letter.Letter{}).Report(now).Groups; groups[0].Name != want {
			t.Errorf("%s: %+v", by, groups)
		}
	}
	if _, err := letter.NewStats("raeson", 0, false); err == nil || !strings.Contains(err.Error(), "--by raeson: ") || !strings.Contains(err.Error(), "takes reason, shape") {
		t.Error(err)
	}
	s := must(letter.NewStats(".body.a.b", 0, false))
	if err := s.Add(moved(`{"a": "secret"}`), now); err == nil || strings.Contains(err.Error(), "secret") || s.Report(now).Total != 0 {
		t.Errorf("%v, %+v", err, s.Report(now))
	}
}

// The name of a group, also of a long one, selects its letters.
func TestGroupNameSelects(t *testing.T) {
	for _, reason := range []string{"no customer 17", strings.Repeat("no customer 17, ", 30)} {
		l := failed("1", reason, now)
		name := stats(t, "", 0, false, l).Report(now).Groups[0].Name
		if ok, err := must(letter.Criteria{Reason: name}.Compile()).Matches(l, now); !ok || err != nil {
			t.Errorf("%q: %v, %v", name, ok, err)
		}
	}
}

// However many groups and hours there are, a Stats stays small.
func TestStatsBounds(t *testing.T) {
	var letters []*letter.Letter
	for i := range 10_500 {
		letters = append(letters, &letter.Letter{ID: fmt.Sprint(i), Sent: now.Add(-time.Duration(i) * time.Hour), Source: fmt.Sprint("arn:", i)})
	}
	r := stats(t, ".id", 0, false, letters...).Report(now)
	if len(r.Groups) != 10_001 || r.Groups[0].Name != "(other)" || r.Groups[0].Count != 500 || len(r.Groups[0].Sources) != 10 {
		t.Errorf("%d groups, the first %+v", len(r.Groups), r.Groups[0])
	}
	if len(r.Hours) != 14*24+1 || r.OutsideHours != 10_500-len(r.Hours) || r.Total != 10_500 {
		t.Errorf("%d hours, %d outside", len(r.Hours), r.OutsideHours)
	}
	if text := reportText(t, r, 0); strings.Count(text, "\n") > 60 || !strings.Contains(text, "in 9981 more groups") {
		t.Error(text)
	}
}

func TestReportText(t *testing.T) {
	var letters []*letter.Letter
	add := func(n int, l *letter.Letter) { letters = append(letters, slices.Repeat([]*letter.Letter{l}, n)...) }
	for h := range 40 {
		add(1+h%7, failed("0f1e2d3c-0000-4000-8000-000000000001", fmt.Sprintf("no customer %d", h), now.Add(-time.Duration(h)*time.Hour)))
	}
	add(2, failed("0f1e2d3c-0000-4000-8000-000000000002", "table orders is throttled: the request rate is too high, retry later\x1b[2J", now))
	add(100, moved(`{"id": 1}`))
	add(1, &letter.Letter{ID: "x\x1b[2J"})
	s := stats(t, "", 4*24*time.Hour, false, letters...)
	for _, width := range []int{0, 120, 60, 30} {
		text := reportText(t, s.Report(now), width)
		golden.Check(t, fmt.Sprintf("report-%d.txt", width), text)
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, "\x1b") || width > 40 && utf8.RuneCountInString(line) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
	if text := reportText(t, stats(t, "", 0, false).Report(now), 0); text != "no dead letters\n" {
		t.Errorf("nothing: %q", text)
	}
}

func reportText(t *testing.T, r letter.Report, width int) string {
	t.Helper()
	terminal := view.Terminal{}
	if width > 0 {
		terminal.Width = func() int { return width }
	}
	var out strings.Builder
	if err := r.Text(&out, terminal); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
