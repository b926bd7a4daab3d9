package jsonbody_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Base is embedded, and has a name that hides another's.
type Base struct {
	Region string `json:"region"`
	ID     bool   // hidden by Shipment's
}

type line struct {
	SKU string `json:"sku"`
	Qty int8   `json:"qty"`
}

// text decodes itself, and says what it was given.
type text string

func (*text) UnmarshalJSON(b []byte) error { return fmt.Errorf("what is %s?", b) }

// parcel decodes itself, its fields by encoding/json.
type parcel struct {
	Weight int `json:"weight"`
	ok     bool
}

func (p *parcel) UnmarshalJSON(b []byte) error {
	type fields parcel
	p.ok = true
	return json.Unmarshal(b, (*fields)(p))
}

// box decodes itself, holds another, and counts how often it is asked.
type box struct{ In *box }

var asked int

func (*box) UnmarshalJSON([]byte) error {
	asked++
	return &json.UnmarshalTypeError{Type: reflect.TypeFor[int]()}
}

// A body that was made to be refused must not cost a decoding for each level.
func TestNestingDoesNotMultiplyTheTime(t *testing.T) {
	asked = 0
	deep := strings.Repeat(`{"In":`, 9000) + `7` + strings.Repeat(`}`, 9000)
	bad := jsonbody.Decode(deep, new(box), false)
	if bad == nil || bad.Reason() != "a JSON object does not go into jsonbody_test.box, at offset 0" || asked > 3 {
		t.Errorf("asked %d times: %+v", asked, bad)
	}
}

type shipment struct {
	*Base
	ID      string `json:"ID"`
	Lines   []line
	ByName  map[string]line
	Counts  map[string]int `json:"m"`
	Numbers map[int]string
	From    map[netip.Addr]int
	Deep    map[string]map[string][]map[string]int
	Pair    [2]int
	At      *time.Time
	Text    text
	Parcel  parcel
	Data    []byte
	Quoted  int `json:",string"`
	Any     any
	Number  json.Number
	To      fmt.Stringer
	Next    *shipment
	Tuesday bool `json:"-"`
}

// The words are the same on every version of Go, and name fields of Go's types
// only: never a key, an index or a value of the body.
func TestMalformedBody_ReasonQuotesNoneOfIt(t *testing.T) {
	const key = "alice@example.com"
	deep := strings.Repeat(`{"Next":`, 9000) + `{"ID":7}` + strings.Repeat(`}`, 9000)
	for body, want := range map[string]string{
		`{"m":{"` + key + `":"x"}}`:                       `field "m": a JSON string does not go into int, at offset 26`,
		`{"Deep":{"` + key + `":{"b":[{"c":[]}]}}}`:       `field "Deep": a JSON array does not go into int, at offset 40`,
		`{"ByName":{"` + key + `":{"sku":7}}}`:            `field "ByName.sku": a JSON number does not go into string, at offset 38`,
		`{"Numbers":{"` + key + `":"x"}}`:                 `field "Numbers": a key does not go into int, at offset 12`,
		`{"From":{"` + key + `":1}}`:                      `field "From": a key does not go into netip.Addr, at offset 9`,
		`{"ID":7}`:                                        `field "ID": a JSON number does not go into string, at offset 6`,
		`{"iD" : {}}`:                                     `field "ID": a JSON object does not go into string, at offset 8`,
		`{"ID":"x","id":true}`:                            `field "ID": a JSON bool does not go into string, at offset 15`,
		`{"REGION":[1]}`:                                  `field "region": a JSON array does not go into string, at offset 10`,
		`{"Base":7,"lines":[{"qty":1},{"qty":300}]}`:      `field "Lines.qty": a JSON number does not go into int8, at offset 36`,
		`{"Lines":{"` + key + `":1}}`:                     `field "Lines": a JSON object does not go into []jsonbody_test.line, at offset 9`,
		`{"Pair":[1,2,"three"]}`:                          ``,
		`{"Pair":[1,1.5]}`:                                `field "Pair": a JSON number does not go into int, at offset 11`,
		`{"At":null,"At":"` + key + `"}`:                  `field "At": a JSON string does not go into time.Time, at offset 16`,
		`{"Text":"` + key + `"}`:                          `field "Text": a JSON string does not go into jsonbody_test.text, at offset 8`,
		`{"Text":null}`:                                   `field "Text": a JSON null does not go into jsonbody_test.text, at offset 8`,
		`{"Parcel":{"weight":"` + key + `"}}`:             `field "Parcel.weight": a JSON string does not go into int, at offset 20`,
		`{"Parcel":["` + key + `"]}`:                      `field "Parcel": a JSON array does not go into jsonbody_test.parcel, at offset 10`,
		`{"Data":"` + key + `"}`:                          `field "Data": a JSON string that is not base64 does not go into []uint8, at offset 8`,
		`{"Quoted":7}`:                                    `field "Quoted": a JSON number does not go into int with the tag ",string", at offset 10`,
		`{"Quoted":"` + key + `"}`:                        `field "Quoted": a JSON string does not go into int with the tag ",string", at offset 10`,
		`{"Any":{"` + key + `":[1e999]}}`:                 `field "Any": a JSON number does not go into float64, at offset 29`,
		`{"Number":"` + key + `"}`:                        `field "Number": a JSON string does not go into json.Number, at offset 10`,
		`{"To":"` + key + `"}`:                            `field "To": a JSON string does not go into fmt.Stringer, at offset 6`,
		`"` + key + `"`:                                   `a JSON string does not go into jsonbody_test.shipment, at offset 0`,
		`{"Tuesday":7,"` + key + `":{"` + key + `":[1]}}`: ``,
		` null `:                   `the JSON value is null`,
		` `:                        `it is empty`,
		`{"` + key + `"}`:          `not valid JSON at offset 20`,
		`{"ID":"x` + "\n" + `"}`:   `not valid JSON at offset 8`,
		`{"ID":"` + key:            `not valid JSON at offset 24, where it ends too early`,
		`{"ID":"x"} "` + key + `"`: `not valid JSON at offset 11, behind the value`,
		`{"Counts":` + strings.Repeat("[", 10_001): `JSON nested too deeply, at offset 10009`,
		deep: `field "` + strings.Repeat("Next.", 40) + `…": a JSON number does not go into string, at offset 72006`,
	} {
		for _, strict := range []bool{false, true} {
			if strict && (want == "" || strings.Contains(body, `"Base"`)) {
				continue
			}
			reason := ""
			bad := jsonbody.Decode(body, new(shipment), strict)
			if bad != nil {
				reason = bad.Reason()
			}
			if reason != want {
				t.Errorf("%.60s, strict %v: %s, want %s", body, strict, reason, want)
			}
		}
	}
}

// The name of an unknown field is the sender's: the offset leads to it.
func TestUnknownField_IsNotNamed(t *testing.T) {
	for body, want := range map[string]string{
		`{"alice@example.com":1}`:                        `unknown field in jsonbody_test.shipment, at offset 1`,
		`{"Lines":[{"sku":"a"},{"alice":"x","qty":""}]}`: `field "Lines": unknown field in jsonbody_test.line, at offset 23`,
		`{"Base":{"region":"x"}}`:                        `unknown field in jsonbody_test.shipment, at offset 1`,
		`{"Parcel":{"alice":1}}`:                         ``, // decodes itself
	} {
		bad := jsonbody.Decode(body, new(shipment), true)
		if want == "" && bad != nil || want != "" && (bad == nil || bad.Reason() != want) {
			t.Errorf("%s: %+v, want %s", body, bad, want)
		}
	}
}

func TestWithin(t *testing.T) {
	at := func() int { return 100 }
	for body, want := range map[string]string{
		`{"N":"x"}`: `field "part.N": a JSON string does not go into int, at offset 105`,
		`"x"`:       `field "part": a JSON string does not go into struct { N int }, at offset 100`,
		`{"N"`:      `not valid JSON at offset 104, where it ends too early`,
		`{"N":1}}`:  `not valid JSON at offset 107, behind the value`,
		`{"N"}`:     `not valid JSON at offset 104`,
		``:          `part: it is empty`,
		`null`:      `part: the JSON value is null`,
	} {
		if got := jsonbody.Decode(body, new(struct{ N int }), false).Within("part", at); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// The decoder's error stays what it is, for who asks.
func TestFaultKeepsTheError(t *testing.T) {
	if bad := jsonbody.Decode(`{"At":"x"}`, new(shipment), false); bad == nil || bad.Unwrap() == nil {
		t.Errorf("%+v", bad)
	}
	if got := jsonbody.Where(`{"m":{"alice":[]}}`, new(shipment)); got != `field "m": a JSON array does not go into int, at offset 14` {
		t.Error(got)
	}
}

func TestOffset(t *testing.T) {
	const body = ` {"a" : [ 1 , {"b":"x", "B": {"c":null}} ], "A":[{"d":"{"}, 2 ] , "e":7}`
	for want, path := range map[string][]any{
		`[{"d"`:  {"a"}, // the last one, whatever its case
		`{"d"`:   {"a", 0},
		`"{"}`:   {"A", 0, "d"},
		`2 ] ,`:  {"A", 1},
		`7}`:     {"e"},
		` {"a" `: {"none"},
	} {
		if at := jsonbody.Offset(body, path...); !strings.HasPrefix(body[at:], want) {
			t.Errorf("%v: %s, want %s", path, body[at:], want)
		}
	}
	for _, path := range [][]any{{"e", 0}, {"e", "x"}, {"a", 2}, {"a", "x"}, {0}} { // breaks off
		if at := jsonbody.Offset(body, path...); at != jsonbody.Offset(body, path[:len(path)-1]...) {
			t.Errorf("%v: at %d", path, at)
		}
	}
	for _, body := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":[`, `[1,`, `{"a":1]`} { // no JSON: no place, and no panic
		_ = jsonbody.Offset(body, "a", 0)
		_ = jsonbody.Offset(body, 1)
	}
}

// FuzzPart compares with encoding/json: Find finds the one member of a name, refuses a body in
// which that name occurs again, ignoring case, and calls nothing else wrong that is JSON.
func FuzzPart(f *testing.F) {
	for _, text := range []string{
		`{"a":{"b":1}}`, ` {"\u0061" : [1,{"a":2}] , "b":3}`, `{"a":tru}`, `{"x":{},"a":""}`, `{"a":1,}`, `null`, `{}`, ` {"\u0061" : [1,{"a":2}] , "a":3}`,
		`{"a":1,"A":2}`, `{"A":1}`, `{"x":{"a":1},"a":2}`, `{"a":1}x`, `[{"a":1,"a":2}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, body string) {
		value, bad := jsonbody.Find(body, "a")
		if !json.Valid([]byte(body)) {
			if bad == nil {
				t.Fatalf("%q is not JSON", body)
			}
			return
		}
		names := 0
		d := json.NewDecoder(strings.NewReader(body))
		for open, _ := d.Token(); open == json.Delim('{') && d.More(); {
			var value json.RawMessage
			name, _ := d.Token()
			if strings.EqualFold(name.(string), "a") {
				names++
			}
			if err := d.Decode(&value); err != nil {
				return // it has more levels than a decoder takes
			}
		}
		if repeated := names > 1; (bad != nil) != repeated {
			t.Fatalf("%q has the name %d times: %v", body, names, bad)
		} else if repeated {
			return
		}
		var members map[string]json.RawMessage
		_ = json.Unmarshal([]byte(body), &members)
		if member, has := members["a"]; has != (value != "") || has && string(member) != value {
			t.Errorf("%q: found %q", body, value)
		}
	})
}
