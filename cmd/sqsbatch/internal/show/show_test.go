package show_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"o-1","sku":"busy:2s","n":1.50,"x":null}`: `id=o-1 sku=busy:2s n=1.50 x=null`,
		`{"a":"two words","b":"","c":"k=v"}`:             `a="two words" b="" c="k=v"`,
		`{"a":{"b": [1, 2]}}`:                            `a={"b":[1,2]}`,
		`{}`:                                             `{}`,
		`{"a":1} {"b":2}`:                                `{"a":1} {"b":2}`,
		`{"a":`:                                          `{"a":`,
		"two\n  lines":                                   "two lines",
		"bell\a esc\x1b[2J":                              `bell\u0007 esc\u001b[2J`,
		`{"a":"\u001b[2J"}`:                              `a=\u001b[2J`,
		`{"Type":"Notification","TopicArn":"arn:aws:sns:us-east-1:1:t","Message":"{\"id\":\"o-1\"}","MessageId":"m"}`: `SNS: id=o-1`,
		`{"Type":"Notification","TopicArn":"arn:aws:sns:us-east-1:1:t","Message":"two\nlines"}`:                       `SNS: two lines`,
		`{"Type":"SubscriptionConfirmation","TopicArn":"t","Message":"m"}`:                                            `Type=SubscriptionConfirmation TopicArn=t Message=m`,
		`{"Type":"Notification","Message":"m"}`:                                                                       `Type=Notification Message=m`,
		"right\u202eleft":                                                                                             `right\u202eleft`,
	} {
		if got := show.Body(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFit_CutsBetweenWords(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"id=1 sku=ok", 11, "id=1 sku=ok"},
		{"id=1 sku=ok", 10, "id=1 sku=…"}, // the cut between words would leave less than half
		{"id=1 sku=ok quantity=1", 16, "id=1 sku=ok …"},
		{"id=1 sku=ok quantity=1", 0, "id=1 sku=ok quantity=1"},
		{"abcdefgh", 4, "abc…"},
		{"a bbbbbbbbbbbbbbbb", 10, "a bbbbbbb…"},
	} {
		if got := show.Fit(tt.in, tt.width); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestWrap_BreaksBetweenWords(t *testing.T) {
	got := strings.Join(show.Wrap("one two  three averylongword four", 8), "|")
	if got != "one two|three|averylongword|four" {
		t.Error(got)
	}
}

// FuzzBody: every body is shown in one line that does not move the cursor.
func FuzzBody(f *testing.F) {
	f.Add(`{"id":"o-1", "sku":"ok","quantity":1}`)
	f.Add("\x1b]0;x\x07\u0085\u2028")
	f.Add(`{"a":{"\n":"\u0000"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, r := range show.Body(body) {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q is shown as %q", body, show.Body(body))
			}
		}
	})
}

// A shell reads a quoted argument as it was.
func TestQuote(t *testing.T) {
	for _, arg := range []string{"orders", "", "a b", `{"RedrivePolicy":"{\"maxReceiveCount\":\"5\"}"}`, "'", "$(id)`id`\\", "a\nb", "*", "~", "#", "é"} {
		out, err := exec.Command("sh", "-c", "printf %s "+show.Quote(arg)).Output()
		if err != nil {
			t.Skip("there is no sh: ", err)
		}
		if string(out) != arg {
			t.Errorf("%q: a shell reads %q", show.Quote(arg), out)
		}
	}
	if got := show.Quote("https://sqs.eu-west-1.amazonaws.com/1/orders"); strings.Contains(got, "'") {
		t.Error(got)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", -123: "-123", 999: "999", 1000: "1,000", -1000: "-1,000", 123456: "123,456", 1234567: "1,234,567"} {
		if got := show.Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
