package letter_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestEditBody(t *testing.T) {
	for _, tt := range []struct{ body, program, want string }{
		// What does not change keeps its bytes.
		{`{"b": 1.50, "a": 9007199254740993}`, `.`, `{"b": 1.50, "a": 9007199254740993}`},
		{`{"b": 1.50, "a": "\u0041"}`, `.body.b = 1.5`, `{"b":1.5,"a":"\u0041"}`},
		{`{"b": 1, "b": 2}`, `.body.b = 2`, `{"b": 1, "b": 2}`},
		{`paid 7`, `.`, `paid 7`},
		{`"paid 7"`, `.`, `"paid 7"`},
		{` null`, `.`, ` null`},
		// What changes is compact; the rest keeps order, digits and escapes.
		{`{"b": 1.50, "a": 9007199254740993, "c": [{"y": "\u0041", "x": 1e2}]}`, `.body.new = "<&>"`, `{"b":1.50,"a":9007199254740993,"c":[{"y":"\u0041","x":1e2}],"new":"<&>"}`},
		{`{"c": [{"y": 1, "x": 2}, {"y": 1.0, "x": 3}]}`, `.body.c[1].x = 4`, `{"c":[{"y":1,"x":2},{"y":1.0,"x":4}]}`},
		{`{"c": [1, 2]}`, `.body.c += [{"z": 1, "a": 2}]`, `{"c":[1,2,{"a":2,"z":1}]}`},
		{`{"b": 1, "a": 2, "c": 3}`, `del(.body.a)`, `{"b":1,"c":3}`},
		{`{"b": 1, "a": 2}`, `.body.b = {"x": null}`, `{"b":{"x":null},"a":2}`},
		{`{"b": 1}`, `.body = [.body]`, `[{"b":1}]`},
		{`{"n": 9007199254740993}`, `.body.n = 9007199254740992`, `{"n":9007199254740992}`},
		{`{"s": "\ud800", "n": 1}`, `.body.n = 2`, `{"s":"\ud800","n":2}`},
		// Strings are text, unless the body was a JSON string.
		{`{"b": 1}`, `.body = "as it is"`, `as it is`},
		{`{"b": 1}`, `.body |= tojson`, `{"b":1}`},
		{`paid 7`, `.body |= ascii_upcase`, `PAID 7`},
		{`paid 7`, `.body = {text: .text}`, `{"text":"paid 7"}`},
		{`"paid 7"`, `.body |= ascii_upcase`, `"PAID 7"`},
		{`17`, `.body += 1`, `18`},
	} {
		l := moved(tt.body)
		got, keep, err := must(letter.CompileEdit(tt.program)).Apply(*l, now)
		if err != nil || !keep || got.Body != tt.want {
			t.Errorf("%s | %s: %s, %v, %v\nwant %s", tt.body, tt.program, got.Body, keep, err, tt.want)
		}
	}
}

func TestEditAttributes(t *testing.T) {
	origin := order().Attributes
	with := func(name string, a batch.MessageAttribute) map[string]batch.MessageAttribute {
		out := map[string]batch.MessageAttribute{"tenant": origin["tenant"], "cents": origin["cents"], "raw": origin["raw"]}
		if out[name] = a; a.DataType == "" {
			delete(out, name)
		}
		return out
	}
	for program, want := range map[string]map[string]batch.MessageAttribute{
		`.`:                                      origin,
		`.attributes.cents = 150.0`:              origin,
		`.attributes.tenant = "bob"`:             with("tenant", batch.MessageAttribute{DataType: "String.name", StringValue: "bob"}),
		`.attributes.tenant = 7`:                 with("tenant", batch.MessageAttribute{DataType: "Number", StringValue: "7"}),
		`.attributes.cents += 1`:                 with("cents", batch.MessageAttribute{DataType: "Number.EUR", StringValue: "151"}),
		`.attributes.cents = "much"`:             with("cents", batch.MessageAttribute{DataType: "String", StringValue: "much"}),
		`.attributes.raw = "AQI="`:               with("raw", batch.MessageAttribute{DataType: "Binary", BinaryValue: []byte{1, 2}}),
		`.attributes.new = "x"`:                  with("new", batch.MessageAttribute{DataType: "String", StringValue: "x"}),
		`.attributes.new = 12345678901234567890`: with("new", batch.MessageAttribute{DataType: "Number", StringValue: "12345678901234567890"}),
		`.attributes.raw = null`:                 with("raw", batch.MessageAttribute{}),
		`del(.attributes.raw)`:                   with("raw", batch.MessageAttribute{}),
		`.attributes = null`:                     nil,
		`.attributes = {}`:                       nil,
	} {
		l := order()
		got, keep, err := must(letter.CompileEdit(program)).Apply(*l, now)
		if err != nil || !keep || !reflect.DeepEqual(got.Attributes, want) || got.Body != l.Body || got.GroupID != "g-1" {
			t.Errorf("%s: %v, %v\n got %+v\nwant %+v", program, keep, err, got.Attributes, want)
		}
		if !reflect.DeepEqual(l, order()) {
			t.Fatalf("%s changes the letter that it reads", program)
		}
	}
}

func TestEditRest(t *testing.T) {
	l := order()
	value, _ := l.Origin.Value(1024)
	l.Attributes[partialfailure.OriginAttribute] = batch.MessageAttribute{DataType: "String", StringValue: value}
	got, _, err := must(letter.CompileEdit(`.group = "g-2"`)).Apply(*l, now)
	if err != nil || got.GroupID != "g-2" || got.Reason() != "no customer 17" || got.ID != l.ID || got.Attempt != l.Attempt {
		t.Errorf("%+v, %v", got, err)
	}
	got, _, err = must(letter.CompileEdit(`.group = null | del(.attributes.sqsbatch)`)).Apply(*l, now)
	if err != nil || got.GroupID != "" || got.Origin != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, keep, err := must(letter.CompileEdit(`if .reason == "no customer 17" then empty else . end`)).Apply(*l, now); keep || err != nil || !reflect.DeepEqual(got, *l) {
		t.Errorf("empty: %v, %v, %+v", keep, err, got)
	}
}

func TestEditErrors(t *testing.T) {
	for program, want := range map[string]string{
		`., .`:                  "more than one value",
		`.body`:                 "yields a number",
		`null`:                  "yields null",
		`[.]`:                   "yields an array",
		`{body}`:                "no attributes; it must have body",
		`del(.body)`:            "no body",
		`del(.group)`:           "no group",
		`.text = "x"`:           "changes text",
		`.body = null`:          "body is null",
		`.body = ""`:            "body is empty",
		`.body = "\u0000"`:      "the body has characters",
		`.body = "x" * 1048577`: "have 1048587 bytes; SQS takes at most 1048576",
		`.body = "x" * 1048576 | .attributes.a = "b"`: "have 1048594 bytes",
		`.attributes = [1]`:                           "attributes is an array",
		`.attributes.a = true`:                        `attribute "a": its value is a boolean`,
		`.attributes.a = {}`:                          `attribute "a": its value is an object`,
		`.attributes.a = ""`:                          `attribute "a" has the type String: StringValue must be set`,
		`.attributes.a = "\u0001"`:                    `attribute "a" has characters`,
		`.attributes["a b"] = "x"`:                    `attribute "a b" has an invalid name`,
		`.attributes["a..b"] = "x"`:                   `attribute "a..b" has an invalid name`,
		`.attributes["AWS.b"] = "x"`:                  "reserved",
		`.attributes.raw = "secret"`:                  "not base64",
		`.attributes += ([range(11)] | map({key: "a\(.)", value: 1}) | from_entries)`: "12 attributes; SQS takes at most 10",
		`.group = 1`:         "group is a number",
		`.group = "a b"`:     "without blanks",
		`.group = "x" * 129`: "up to 128",
		`error("secret")`:    "the program calls error",
	} {
		l := moved("17")
		l.Attributes = map[string]batch.MessageAttribute{"raw": {DataType: "Binary", BinaryValue: []byte{1}}}
		got, keep, err := must(letter.CompileEdit(program)).Apply(*l, now)
		if err == nil || keep || !strings.HasPrefix(err.Error(), "--edit ") || !strings.Contains(err.Error(), " message dead-2: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", program, err, want)
		}
		if !reflect.DeepEqual(got, *l) {
			t.Errorf("%s: the letter changed, and there is an error", program)
		}
	}
	if _, err := letter.CompileEdit(".body |"); err == nil || !strings.HasPrefix(err.Error(), "--edit .body |: ") {
		t.Error(err)
	}
}

func TestEditor(t *testing.T) {
	l := order()
	text := string(letter.Editable(*l))
	want := `{
  "body": {
    "customer": 9007199254740993,
    "price": 1.50,
    "tags": [
      "a",
      "b"
    ],
    "note": "<b>"
  },
  "attributes": {
    "cents": 150,
    "raw": "AP8=",
    "tenant": "alice"
  },
  "group": "g-1"
}
`
	if text != want {
		t.Fatalf("got %s", text)
	}
	same, err := letter.FromEdited(*l, []byte(text))
	if err != nil || same.Body != l.Body || !reflect.DeepEqual(same.Attributes, l.Attributes) || same.GroupID != l.GroupID {
		t.Errorf("without a change: %+v, %v", same, err)
	}
	text = strings.NewReplacer("\"a\",\n      ", "", "alice", "bob", "g-1", "", "\n", "\r\n").Replace(text)
	got, err := letter.FromEdited(*l, []byte("\xef\xbb\xbf"+text))
	if want := `{"customer":9007199254740993,"price":1.50,"tags":["b"],"note":"<b>"}`; err != nil || got.Body != want || got.GroupID != "" ||
		got.Attributes["tenant"].StringValue != "bob" || got.Attributes["tenant"].DataType != "String.name" || got.Attributes["cents"].StringValue != "+0150" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"{\n\"body\": 1,\n}":            "line 3 is not JSON",
		`{"body": `:                     "line 1 is not JSON",
		`[1]`:                           "not a JSON object",
		`null`:                          "no body",
		`{"body": 1, "attributes": {}}`: "no group",
		`{"boddy": 1}`:                  `the member "boddy"`,
		`{"body": null, "attributes": {}, "group": ""}`:       "body is null",
		`{"body": "", "attributes": {}, "group": ""}`:         "body is empty",
		`{"body": "x", "attributes": {"a": []}, "group": ""}`: `attribute "a"`,
	} {
		if _, err := letter.FromEdited(*l, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A letter that nobody edits is sent as it was, by the editor and by jq.
func TestUnchanged(t *testing.T) {
	identity := must(letter.CompileEdit("."))
	rapid.Check(t, func(t *rapid.T) {
		l := anyLetter().Draw(t, "letter")
		byEditor, err := letter.FromEdited(l, letter.Editable(l))
		if err != nil {
			t.Fatal(err)
		}
		byProgram, keep, err := identity.Apply(l, now)
		if err != nil || !keep {
			t.Fatal(keep, err)
		}
		for _, got := range []letter.Letter{byEditor, byProgram} {
			if got.Body != l.Body || got.GroupID != l.GroupID || !reflect.DeepEqual(got.Attributes, l.Attributes) {
				t.Fatalf("got %+v", got)
			}
		}
		if diff := letter.Diff(l, byProgram); diff != "" {
			t.Fatalf("difference: %s", diff)
		}
	})
}

// anyLetter draws letters that SQS could have returned.
func anyLetter() *rapid.Generator[letter.Letter] {
	runes := rapid.Rune().Filter(func(r rune) bool {
		return (r >= ' ' || r == '\n' || r == '\t' || r == '\r') && r != 0xfffe && r != 0xffff
	})
	text := rapid.StringOfN(runes, 1, 60, -1)
	scalar := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?|"(\\u[0-9a-fA-F]{4}|\\n|[a-z<>&/]){0,4}"|null|true`)
	value := rapid.Deferred(func() *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			list := rapid.SliceOfN(scalar, 0, 4).Draw(t, "values")
			if rapid.Bool().Draw(t, "array") {
				return "[" + strings.Join(list, " , ") + "]"
			}
			for i := range list {
				list[i] = fmt.Sprintf("%q : %s", string(rune('a'+(7*i)%3)), list[i])
			}
			return "{" + strings.Join(list, ",\t") + "}"
		})
	})
	attribute := rapid.Custom(func(t *rapid.T) batch.MessageAttribute {
		label := rapid.SampledFrom([]string{"", ".label", ".a.b"}).Draw(t, "label")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return batch.MessageAttribute{DataType: "Binary" + label, BinaryValue: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes")}
		case 1:
			return batch.MessageAttribute{DataType: "Number" + label, StringValue: rapid.StringMatching(`[+-]?([0-9]{1,20}\.?[0-9]{0,5}|\.[0-9]{1,5})([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")}
		default:
			return batch.MessageAttribute{DataType: "String" + label, StringValue: text.Draw(t, "string")}
		}
	})
	return rapid.Custom(func(t *rapid.T) letter.Letter {
		l := *moved(rapid.OneOf(text, scalar, value).Draw(t, "body"))
		l.GroupID = rapid.StringMatching(`[!-~]{0,10}`).Draw(t, "group")
		l.Attributes = rapid.MapOfN(rapid.StringMatching(`[A-Za-z_-]{1,10}(\.[a-z]{1,3})?`).Filter(func(s string) bool { return !strings.HasPrefix(strings.ToLower(s), "aws.") }), attribute, 0, 10).Draw(t, "attributes")
		if len(l.Attributes) == 0 {
			l.Attributes = nil
		}
		return l
	})
}

func TestDiff(t *testing.T) {
	l := order()
	edited, _, err := must(letter.CompileEdit(`.body.price = 2 | .attributes.tenant = "bob\u009b2J" | .attributes.new = 1 | .group = ""`)).Apply(*l, now)
	if err != nil {
		t.Fatal(err)
	}
	want := `  {
    "customer": 9007199254740993,
-   "price": 1.50,
+   "price": 2,
    "tags": [
      "a",
  …
  }
  attribute cents (Number.EUR): +0150
+ attribute new (Number): 1
  attribute raw (Binary): 00 ff
- attribute tenant (String.name): alice
- group: g-1
+ attribute tenant (String.name): bob\u009b2J
`
	if got := letter.Diff(*l, edited); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Differences of large bodies are short, and show what differs.
func TestDiffLarge(t *testing.T) {
	line := strings.Repeat("é", 200_000)
	got := letter.Diff(*moved("1" + line), *moved("2" + line))
	if len(got) > 5*1024 || !strings.HasPrefix(got, "- 1é") || !strings.Contains(got, "\n+ 2é") {
		t.Errorf("a long line: %d bytes, %.100q", len(got), got)
	}
	got = letter.Diff(*moved(strings.Repeat("a\n", 100_000)), *moved(strings.Repeat("b\n", 100_000)))
	if n := strings.Count(got, "\n"); n != 401 || !strings.HasSuffix(got, "only the first 400 lines are shown\n") {
		t.Errorf("many lines: %d", n)
	}
	many := func(last string) string {
		return "[" + strings.Repeat("1,", 50_000) + last + strings.Repeat(",1", 50_000) + "]"
	}
	if got := letter.Diff(*moved(many("2")), *moved(many("3"))); got != "  …\n    1,\n    1,\n-   2,\n+   3,\n    1,\n    1,\n" {
		t.Errorf("one of many lines: %s", got)
	}
}

func FuzzFromEdited(f *testing.F) {
	f.Add(letter.Editable(*order()))
	f.Add([]byte(`{"body": 1, "attributes": {"a": 1e999}, "group": null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := letter.FromEdited(*order(), text)
		if err != nil {
			return
		}
		again, err := letter.FromEdited(got, letter.Editable(got))
		if err != nil || again.Body != got.Body || !reflect.DeepEqual(again.Attributes, got.Attributes) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// An edit above many levels does not read what is below once for each of them.
func TestEdit_OfADeepBodyReadsItAFewTimes(t *testing.T) {
	body := strings.Repeat("[", 9000) + "1" + strings.Repeat(",1", 20_000) + strings.Repeat("]", 9000)
	edit, err := letter.CompileEdit(".body = [.body]")
	if err != nil {
		t.Fatal(err)
	}
	l := letter.Letter{Message: message.Message{Body: body}}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if edited, keep, err := edit.Apply(l, now); err != nil || !keep || edited.Body != "["+body+"]" {
				b.Fatal(err)
			}
		}
	})
	if most := int64(600 << 20); allocated.AllocedBytesPerOp() > most {
		t.Errorf("an edit of %d bytes takes %d MiB, want at most %d", len(body), allocated.AllocedBytesPerOp()>>20, most>>20)
	}
}

// vi and emacs run commands that they find in a file: no message brings one.
func TestEditable_HasNoModelines(t *testing.T) {
	command := regexp.MustCompile(`(?i)(^|\s)(vim?|ex)([<=>]?\d*):|-\*-|Local Variables:`) // vim: ":help modeline"
	for _, text := range []string{
		" vim: set modeline foldexpr=system('id'):", "ex:set x", "\tvi:noai", "vim>700: set x", "Vim: set y", "-*- eval: (shell-command \"id\") -*-",
		"Local Variables:\neval: (shell-command \"id\")\nEnd:", "x /* vim: set z: */",
	} {
		for _, body := range []string{text, string(must(json.Marshal(map[string]string{text: text})))} {
			l := letter.Letter{Message: message.Message{Body: body, GroupID: "ex:g", Attributes: map[string]batch.MessageAttribute{"a": {DataType: "String", StringValue: text}}}}
			shown := letter.Editable(l)
			for line := range strings.Lines(string(shown)) {
				if found := command.FindString(line); found != "" {
					t.Errorf("%q has %q", line, found)
				}
			}
			same, err := letter.FromEdited(l, shown)
			if err != nil || same.Body != body || same.GroupID != "ex:g" || same.Attributes["a"].StringValue != text {
				t.Errorf("%q became %+v, %v", body, same, err)
			}
		}
	}
}
