package letter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const ordersARN = "arn:aws:sqs:eu-west-1:111122223333:orders"

// order is a letter that sqsbatch dead-lettered.
func order() *letter.Letter {
	return &letter.Letter{
		ID: "dead-1",
		Message: message.Message{
			Body:    `{"customer": 9007199254740993, "price": 1.50, "tags": ["a", "b"], "note": "<b>"}`,
			GroupID: "g-1", Attempt: 3,
			Attributes: map[string]batch.MessageAttribute{
				"tenant": {DataType: "String.name", StringValue: "alice"},
				"cents":  {DataType: "Number.EUR", StringValue: "+0150"},
				"raw":    {DataType: "Binary", BinaryValue: []byte{0, 255}},
			},
		},
		Sent:          now.Add(-3 * time.Hour),
		FirstReceived: now.Add(-2 * time.Hour),
		Origin: &partialfailure.Origin{
			Reason: "no customer 17", MessageID: "first-1", Attempts: 5,
			FailedAt: now.Add(-time.Hour), Queue: ordersARN,
		},
	}
}

// moved is a letter that SQS moved.
func moved(body string) *letter.Letter {
	return &letter.Letter{ID: "dead-2", Message: message.Message{Body: body, Attempt: 6}, Sent: now.Add(-3 * time.Hour), Source: ordersARN}
}

func TestWhere(t *testing.T) {
	for program, want := range map[string]bool{
		`.id == "dead-1"`:                                             true,
		`.body.price > 1`:                                             true,
		`.body.customer == 9007199254740993`:                          true,
		`.body.customer == 9007199254740992`:                          false,
		`.body.customer | tojson == "9007199254740993"`:               true,
		`.text | startswith("{\"customer\": ")`:                       true,
		`.attributes == {tenant: "alice", cents: 150, raw: "AP8="}`:   true,
		`.reason | test("no customer")`:                               true,
		`.age == 10800 and .receives == 3`:                            true,
		`.sourceName == "orders" and (.source | endswith(":orders"))`: true,
		`.group == "g-1"`:                                             true,
		`[.sent, .firstReceived, .failedAt] == ["2026-11-22T09:00:00Z", "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"]`: true,
		`has("queue")`:             false,
		`.body.missing`:            false,
		`null`:                     false,
		`false, true`:              false,
		`true, error("unread")`:    true,
		`empty`:                    false,
		`0`:                        true,
		`env == {} and $ENV == {}`: true,
	} {
		c := letter.Criteria{Where: program}
		if got, err := must(c.Compile()).Matches(order(), now); err != nil || got != want {
			t.Errorf("%s: %v, %v", program, got, err)
		}
		if c.All() {
			t.Errorf("%s: All", program)
		}
	}
}

// What a program sees of a letter of which nothing is known but its body.
func TestWhereUnknown(t *testing.T) {
	for body, want := range map[string]string{
		"":         `""`,
		"paid 7":   `"paid 7"`,
		`"paid 7"`: `"paid 7"`,
		`{"a":`:    `"{\"a\":"`,
		"null":     "null",
		" [1] ":    "[1]",
		"1 2":      `"1 2"`,
		"-1e400":   "-1e400",
	} {
		l := &letter.Letter{ID: "x", Queue: "arn:dead", Message: message.Message{Body: body}}
		program := `.body == ` + want + ` and (.age, .sent, .firstReceived, .failedAt) == null and .reason + .source + .sourceName + .group == ""
			and .attributes == {} and .receives == 0 and .queue == "arn:dead"`
		if got, err := must(letter.Criteria{Where: program}.Compile()).Matches(l, now); err != nil || !got {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// Numbers of attributes are numbers in each spelling that SQS allows.
func TestWhereNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"5": "5", "-5": "-5", "+5": "5", "007": "7", ".5": "0.5", "5.": "5", "-.5e+2": "-50",
		"12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
		"":                                       `""`, ".": `"."`, "x": `"x"`,
	} {
		l := moved("")
		l.Attributes = map[string]batch.MessageAttribute{"n": {DataType: "Number", StringValue: text}}
		if got, err := must(letter.Criteria{Where: `.attributes.n == ` + want}.Compile()).Matches(l, now); err != nil || !got {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestCriteria(t *testing.T) {
	failed, received := now.Add(-time.Hour), now.Add(-2*time.Hour)
	for name, tt := range map[string]struct {
		c    letter.Criteria
		want bool
	}{
		"id":                       {letter.Criteria{IDs: []string{"x", "dead-1"}}, true},
		"id in the source queue":   {letter.Criteria{IDs: []string{"first-1"}}, true},
		"another id":               {letter.Criteria{IDs: []string{"dead-2"}}, false},
		"part of the reason":       {letter.Criteria{Reason: "customer 1"}, true},
		"group of the reason":      {letter.Criteria{Reason: "no customer N"}, true},
		"part of the group":        {letter.Criteria{Reason: "customer N"}, false},
		"another reason":           {letter.Criteria{Reason: "timeout"}, false},
		"since it failed":          {letter.Criteria{Since: failed}, true},
		"since later":              {letter.Criteria{Since: failed.Add(1)}, false},
		"until it failed":          {letter.Criteria{Until: failed}, false},
		"until later":              {letter.Criteria{Until: failed.Add(1)}, true},
		"by failure, not receive":  {letter.Criteria{Since: received, Until: failed}, false},
		"all that is set":          {letter.Criteria{Reason: "no", Where: ".receives == 3", Since: received}, true},
		"all but one that is set":  {letter.Criteria{Reason: "no", Where: ".receives == 4", Since: received}, false},
		"a failing program unread": {letter.Criteria{Reason: "timeout", Where: "error"}, false},
	} {
		if got, err := must(tt.c.Compile()).Matches(order(), now); err != nil || got != tt.want || tt.c.All() {
			t.Errorf("%s: %v, %v; all: %v", name, got, err, tt.c.All())
		}
	}
	if c := (letter.Criteria{}); !c.All() {
		t.Error("no criteria do not select all letters")
	} else if ok, err := must(c.Compile()).Matches(&letter.Letter{}, now); !ok || err != nil {
		t.Errorf("no criteria: %v, %v", ok, err)
	}
	unknown := &letter.Letter{ID: "x"}
	for _, c := range []letter.Criteria{{Since: now}, {Until: now}, {IDs: []string{""}}, {Reason: "x"}} {
		if ok, err := must(c.Compile()).Matches(unknown, now); ok || err != nil {
			t.Errorf("%+v selects a letter of which nothing is known: %v", c, err)
		}
	}
}

func TestWhen(t *testing.T) {
	l := order()
	want := []time.Time{now.Add(-time.Hour), now.Add(-2 * time.Hour), now.Add(-3 * time.Hour), {}}
	for i, forget := range []func(){func() {}, func() { l.Origin.FailedAt = time.Time{} }, func() { l.FirstReceived = time.Time{} }, func() { l.Sent = time.Time{} }} {
		if forget(); !l.When().Equal(want[i]) {
			t.Errorf("%d: %v, want %v", i, l.When(), want[i])
		}
	}
}

// The error names the flag, and where the program is wrong.
func TestCompileErrors(t *testing.T) {
	for program, want := range map[string][]string{
		`.body.`:            {"--where .body.: ", "at character 7"},
		`"é" | }`:           {`unexpected token "}"`, "at character 7"},
		`.body == "x`:       {"unterminated string"},
		`nothing`:           {"--where nothing: ", "nothing/0"},
		`$x`:                {"$x"},
		`input`:             {"not allowed"},
		`debug`:             {"debug/0"},
		`input_filename`:    {"input_filename/0"},
		`import "a" as a;.`: {"cannot load module"},
	} {
		_, err := letter.Criteria{Where: program}.Compile()
		golden.Says(t, program, fmt.Sprint(err), want...)
	}
	_, err := letter.Criteria{Since: now, Until: now}.Compile()
	if err == nil || !strings.HasPrefix(err.Error(), "--since 2026-11-22T12:00:00Z: ") {
		t.Errorf("an empty time: %v", err)
	}
}

// A program that fails on a letter names the letter, and quotes nothing of it.
func TestWhereErrors(t *testing.T) {
	l := moved(`{"a": "secret", "array": ["secret"], "object": {"secret": "secret"}, "and": "x (secret) and number (1)"}`)
	for program, want := range map[string]string{
		`.body.a.b`:                   "expected an object but got: string",
		`.body.a + 1`:                 "cannot add: string",
		`.receives / 0`:               "cannot divide number",
		`.body.a[]`:                   "cannot iterate over: string",
		`.body.a | keys`:              "keys cannot be applied to its input",
		`1 | split("secret")`:         "split cannot be applied to its input",
		`.body.a | tonumber`:          "tonumber cannot be applied to its input",
		`.body | getpath(["a", "b"])`: "getpath cannot be applied to its input",
		`.body.a | test("(" + .)`:     "invalid regular expression",
		`error(.body.a)`:              "the program calls error",
		`.body | error`:               "the program calls error",
		`halt`:                        "the program calls halt",
		`.body.a | halt_error`:        "the program calls halt",
		`.body.a * 1e9`:               "repeat string result too large",
		`.body.and | keys`:            "keys cannot be applied to its input",
		`.body.object | .[.]`:         "expected …",
		`.body.array | @csv "\([.])"`: "@csv cannot format an array including: array",
	} {
		_, err := must(letter.Criteria{Where: program}.Compile()).Matches(l, now)
		if err == nil || !strings.HasPrefix(err.Error(), "--where cannot be evaluated for message dead-2: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", program, err, want)
		}
	}
}

func TestWhereEnds(t *testing.T) {
	t.Parallel()
	_, err := must(letter.Criteria{Where: `def f: f; f`}.Compile()).Matches(moved(""), now)
	if err == nil || !strings.Contains(err.Error(), "runs for more than 1s") {
		t.Error(err)
	}
}

func TestReasonGroup(t *testing.T) {
	for reason, want := range map[string]string{
		"":                               "",
		"no customer 17":                 "no customer N",
		"timeout after 1.5s":             "timeout after Ns",
		"order o-17: no\n\tstock":        "order o-N: no stock",
		"order o17 is late":              "order oN is late",
		`no customer "alice"`:            `no customer "…"`,
		`no customer "a \" b" 1`:         `no customer "…" N`,
		`cut off in "alic`:               `cut off in "…"`,
		"no `id`":                        `no "…"`,
		"can't find 'x y', sorry":        `can't find "…", sorry`,
		"the users' and the shops' data": "the users' and the shops' data",
		"mail to alice.b+c@example.com":  "mail to EMAIL",
		"before 2026-11-22T10:00:00.5Z":  "before TIME",
		"on 2026-11-22":                  "on TIME",
		"request 6f1f7f2e-3c1b-4c37-9f0e-0123456789ab failed":                "request ID failed",
		"commit deadbeef12 at 0xc000123":                                     "commit ID at ID",
		"key 01ARZ3NDEKTSV4RRFFQ69G5FAV":                                     "key ID",
		"table arn:aws:dynamodb:eu-west-1:111122223333:table/orders, item 3": "table arn:aws:dynamodb:…, item N",
		`order "o-1": api error ThrottlingException, StatusCode: 400`:        `order "…": api error ThrottlingException, StatusCode: 400`,
		"StatusCode: 503, RequestID: ABCDEFGH12345678":                       "StatusCode: 503, RequestID: ID",
		"HTTP 404 from S3":                      "HTTP 404 from S3",
		"internationalization of base64 failed": "internationalization of base64 failed",
		"customer12345 is gone":                 "customerN is gone",
	} {
		if got := letter.ReasonGroup(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// A group's name selects the group: --reason takes it as it is shown.
func TestReasonGroupOfGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching("([a-f0-9-]{1,40}|[\"'`]|arn:aws:sqs:|http |[A-Z0-9a-z@.: /]{1,20}){1,8}"),
		).Draw(t, "reason")
		group := letter.ReasonGroup(reason)
		if again := letter.ReasonGroup(group); again != group {
			t.Fatalf("%q: the group %q has the group %q", reason, group, again)
		}
	})
}

// must is for what a test takes for granted.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
