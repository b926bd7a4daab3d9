package sqsevent

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestScannerAgreesWithEncodingJSON holds what is skipped, in every place
// where a value may stand, against encoding/json: both take it, or neither.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	values := strings.Fields(`0 -0 -1 12 1.5 1e5 1E5 1e+5 1E-5 1.25e10 - 01 -01 1. .5 1e 1e+ 1.e5 +1 0x1 1_0 --1
		true false null tru trux fals nul nulx nuLl True
		{} [] {"a":1} [1,2] {"a":{}} [[]] {"a"} {"a":} {"a":1,} [1,] [,1] {,} [1 {"a":1 {"a"1} {1:2} {"a":1"b":2} [12"x"] ] }
		"" "a" "\"" "\\" "\/" "\b\f\n\r\t" "\u00e9" "\u00E9" "\uD83D\uDE00" "\ud83d" "\ud83dx" "\ud83d\n" "\ud83d\u0041" "\uGGGG" "\u00e" "\u" "\x" "\`)
	values = append(values, "", " 1 ", "\t1\r\n", "[ 1 , 2 ]", "{ \"a\" : 1 , \"b\" : [ ] }", "\f1", "1\f", "\v1", "1 2", "\"a\x01b\"", "\"\\n\x1f\"", "\"a\tb\"", "\"\xff\"", "\"a\\n\xff\"", "\"\uFFFD\"", "1\x00", "\x00")
	for _, v := range values {
		for _, form := range []string{`{"x":%s,"Records":[]}`, `{"x":[%s],"Records":[]}`, `{"Records":[],"x":%s}`, `{"Records":[]}%s`, `{"Records":[{"messageId":"m","y":%s}]}`} {
			payload := strings.Replace(form, "%s", v, 1)
			if _, err := Decode([]byte(payload)); (err == nil) != json.Valid([]byte(payload)) {
				t.Errorf("%q: error %v, valid JSON: %v", payload, err, json.Valid([]byte(payload)))
			}
		}
	}
}

// TestStringsAgreeWithEncodingJSON reads strings of every length up to two of
// the scanner's words, with each kind of character at each place.
func TestStringsAgreeWithEncodingJSON(t *testing.T) {
	for n := range 20 {
		for at := range n + 1 {
			for _, c := range []string{"", `\n`, `\r`, `\b`, `\f`, `\t`, `\/`, `\\`, `\"`, `\u00e9`, `\u00E9`, `\uABCD`, `\ud83d\uDE00`, `\ud83d`, `\ud83dab1234`, `\ud83dabDE00`, "é", "\u0080", "\uFFFD", "\xff", "\x80", "\U0001F4E6", "\x7f", "\x00", "\x1f", `\ud83d\u0041`} {
				body := `"` + strings.Repeat("a", at) + c + strings.Repeat("b", n-at) + `"`
				var want string
				wantErr := json.Unmarshal([]byte(body), &want)
				records, err := Decode([]byte(`{"Records":[{"messageId":"m","body":` + body + `}]}`))
				if (err == nil) != (wantErr == nil) || err == nil && records[0].Body != want {
					t.Fatalf("%s: %+v, %v, want %q, %v", body, records, err, want, wantErr)
				}
			}
		}
	}
}

func TestNestingIsBoundedAsInEncodingJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := strings.Repeat(`{},[],{"a":1},[1],`, 10_000) + "0"
	for name, c := range map[string]struct {
		value string
		ok    bool
	}{"10,000 levels": {deep(10_000), true}, "10,001 levels": {deep(10_001), false}, "many side by side": {"[" + many + "]", true}} {
		if _, err := Decode([]byte(`{"x":` + c.value + `,"Records":[]}`)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNullIsAMissingValue(t *testing.T) {
	records, err := Decode([]byte(`{"Records":[{"messageId":"m","body":null,"eventSource":null,"attributes":null,"messageAttributes":{"a":null,"b":{"binaryValue":null},"c":{"binaryValue":""}}}]}`))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	r := records[0]
	if r.Body != "" || len(r.MessageAttributes) != 3 || r.MessageAttributes["b"].BinaryValue != nil || r.MessageAttributes["c"].BinaryValue != nil || !r.SentAt.IsZero() {
		t.Errorf("%+v", r)
	}
	records, err = Decode([]byte(`{"Records":[{"messageId":"m","attributes":{"SentTimestamp":"soon"}}]}`))
	if err != nil || !records[0].SentAt.IsZero() {
		t.Errorf("a time that is none: %+v, %v", records, err)
	}
}

func TestRecordsThatAreRepeatedReplaceThoseBefore(t *testing.T) {
	records, err := Decode([]byte(`{"Records":[{"messageId":"a"},{"messageId":"b"}],"Records":[{"messageId":"c"}]}`))
	if err != nil || len(records) != 1 || records[0].MessageID != "c" {
		t.Errorf("%+v, %v", records, err)
	}
}
