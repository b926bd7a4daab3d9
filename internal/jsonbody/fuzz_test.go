package jsonbody

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Inner and Outer have names in common, as embedded structs may.
type Inner struct {
	ID   int
	Both string
	Deep []string
}

type Outer struct {
	*Inner
	Both   string
	Text   string `json:"ID"`
	*Outer        // itself, which adds nothing
	Mark   int    `json:"Named"`
	Named  string // the tagged one counts
}

type other struct {
	Both bool
	Only int
}

type Own struct{ N int }

func (o *Own) UnmarshalJSON(b []byte) error {
	type plain Own
	return json.Unmarshal(b, (*plain)(o))
}

type many struct {
	Outer
	other
	S    string `json:"s"`
	I    int8
	U    uint16
	F    float32
	B    bool
	QI   int    `json:",string"`
	QS   string `json:"qs,string"`
	QB   *bool  `json:",string"`
	M    map[string]int
	MI   map[int8]string
	MA   map[netip.Addr]bool
	MM   map[string]map[string]*many
	L    []many
	P    **many
	A    [2]int
	D    []byte
	T    time.Time
	Addr *netip.Addr
	Own  Own
	Any  any
	Num  json.Number
	Raw  json.RawMessage
	To   fmt.Stringer
	Big  *big.Int
}

// FuzzFind plants a marker in a body: no reason has it, and each says where the
// fault is, exactly when encoding/json finds one.
func FuzzFind(f *testing.F) {
	for _, body := range []string{
		`{"m":{"alice":"x"}}`, `{"s":"x","S":1}`, `{"I":128}`, `{"U":-1}`, `{"F":1e99}`, `{"B":"x"}`, `{"QI":"1","qs":"\"x\"","QB":"true"}`,
		`{"QI":1}`, `{"QI":" 1"}`, `{"QI":null}`, `{"qs":"x"}`, `{"QB":"null"}`, `{"MI":{"128":"x"}}`, `{"MI":{"":"x"}}`, `{"MI":{"+28":"x"}}`, `{"MA":{"1.2.3.4":true,"x":false}}`,
		`{"MM":{"a":{"b":{"L":[{"P":{"s":1}}]}}}}`, `{"L":[{},{"A":[1,2,"x"]},{"A":["x"]}]}`, `{"D":"eA=="}`, `{"D":"x"}`, `{"D":[1,300]}`,
		`{"T":"2026-11-22T00:00:00Z"}`, `{"T":"x"}`, `{"T":null}`, `{"Addr":"x"}`, `{"Addr":7}`, `{"Addr":{}}`, `{"Own":{"N":"x"}}`, `{"Own":null}`, `{"Own":[]}`,
		`{"Any":{"a":[1e999]}}`, `{"Num":"1"}`, `{"Num":"x"}`, `{"Num":1.5}`, `{"Num":true}`, `{"Raw":[{}]}`, `{"To":1}`, `{"To":null}`, `{"Big":1}`, `{"Big":"x"}`, `{"Big":null}`,
		`{"ID":1}`, `{"Both":1}`, `{"Only":"x"}`, `{"Deep":[1]}`, `{"Outer":{}}`, `{"Named":"x"}`, `{"Named":1}`, `null`, `[]`, `[1,"2"]`, `"x"`, `7`, ``, ` `, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1}x`,
		`{"a":1}{}`, `[1,]`, `{,}`, `tru`, `truex`, `-`, `01`, `1.`, `1e`, `1e+`, `"\u12`, `"\u12g4"`, `"\x"`, "\"\n\"", "\"\xff\"", `{"\u0073":1}`, `{"ſ":1}`, `{"K":1}`, `-0`, `1E5`,
	} {
		for at := range 3 {
			f.Add(body, uint8(at))
		}
	}
	f.Fuzz(func(t *testing.T, body string, at uint8) {
		const marker = "swordfish"
		if parts := strings.Split(body, `"`); at > 0 {
			parts[int(at)%len(parts)] += marker
			body = strings.Join(parts, `"`)
		} else if strings.Contains(body, marker) {
			return
		}
		for _, strict := range []bool{false, true} {
			hunt[many](t, body, marker, strict)
			hunt[[]many](t, body, marker, strict)
			hunt[map[string]int](t, body, marker, strict)
			hunt[map[int]*Own](t, body, marker, strict)
			hunt[any](t, body, marker, strict)
			hunt[string](t, body, marker, strict)
			hunt[*time.Time](t, body, marker, strict)
		}
	})
}

func hunt[T any](t *testing.T, body, marker string, strict bool) {
	t.Helper()
	if err := decode(body, new(T), strict); err == nil {
		if bad := find(body, reflect.TypeFor[T](), strict, nil); bad.at >= 0 {
			t.Errorf("%q into %T, strict %v: encoding/json takes it, and we say: %s", body, *new(T), strict, bad.Reason())
		}
		return
	}
	bad := Decode(body, new(T), strict)
	reason := bad.Reason()
	if strings.Contains(reason, marker) || len(reason) > 600 {
		t.Errorf("%q into %T: the body is in %q", body, *new(T), reason)
	}
	if bad.at < 0 && reason != "it is empty" || bad.at > len(body) {
		t.Errorf("%q into %T, strict %v: %v; %s", body, *new(T), strict, bad.err, reason)
	}
	if bad.syntax() == json.Valid([]byte(body)) && bad.at >= 0 {
		t.Errorf("%q into %T: %s", body, *new(T), reason)
	}
}
