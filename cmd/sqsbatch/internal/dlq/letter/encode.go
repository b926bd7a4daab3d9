package letter

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/itchyny/gojq"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// same reports whether two JSON values are equal. Large numbers are
// equal only if all their digits are.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case nil, bool, string:
		return a == b
	}
	if b == nil || gojq.TypeOf(b) != "number" {
		return false
	}
	return bytes.Equal(marshal(a), marshal(b)) || gojq.Compare(a, b) == 0 && isSmall(a) && isSmall(b)
}

// isSmall reports whether a float64 has all the digits that a number's integer part has.
func isSmall(n any) bool {
	f, _ := gojq.ToFloat64(n)
	return f > -1<<53 && f < 1<<53
}

// encodeLike appends v as compact JSON. old and raw are the value before the edit and its
// JSON. They say how to write the parts of v that did not change, and in which order to
// write an object's members. If raw is not JSON, they say nothing.
func encodeLike(dst []byte, v, old any, raw []byte) []byte { return encodeBelow(dst, v, old, raw, 0) }

// maxLike is the number of levels of changed values in which the old text is looked at. Each
// level reads all that is below it, so a message with 9,000 levels could take minutes.
const maxLike = 100

func encodeBelow(dst []byte, v, old any, raw []byte, depth int) []byte {
	if depth > maxLike {
		return append(dst, marshal(v)...)
	}
	if same(old, v) && json.Valid(raw) {
		return appendCompact(dst, raw)
	}
	switch v := v.(type) {
	case map[string]any:
		return encodeObject(dst, v, old, raw, depth)
	case []any:
		return encodeArray(dst, v, old, raw, depth)
	default:
		return append(dst, marshal(v)...)
	}
}

func encodeObject(dst []byte, v map[string]any, old any, raw []byte, depth int) []byte {
	oldValues, _ := old.(map[string]any)
	var names []string
	var texts map[string]json.RawMessage
	if oldValues != nil {
		names, texts = membersOf(raw)
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := v[name]; return !ok })
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, ok := texts[name]; !ok {
			names = append(names, name)
		}
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, marshal(name)...), ':')
		dst = encodeBelow(dst, v[name], oldValues[name], texts[name], depth+1)
	}
	return append(dst, '}')
}

func encodeArray(dst []byte, v []any, old any, raw []byte, depth int) []byte {
	oldValues, _ := old.([]any)
	var texts []json.RawMessage
	if oldValues != nil {
		_ = json.Unmarshal(raw, &texts) // it is an array
	}
	dst = append(dst, '[')
	for i, element := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		if i < len(texts) {
			dst = encodeBelow(dst, element, oldValues[i], texts[i], depth+1)
		} else {
			dst = encodeBelow(dst, element, nil, nil, depth+1)
		}
	}
	return append(dst, ']')
}

// membersOf returns the names of a JSON object's members in order, and the JSON of each.
func membersOf(object []byte) (names []string, values map[string]json.RawMessage) {
	values = make(map[string]json.RawMessage)
	for name, value := range show.Members(object) {
		if _, twice := values[name]; !twice {
			names = append(names, name)
		}
		values[name] = value // the last one counts
	}
	return names, values
}

func appendCompact(dst, raw []byte) []byte {
	out := bytes.NewBuffer(dst)
	if json.Compact(out, raw) != nil {
		return append(dst, raw...)
	}
	return out.Bytes()
}

// marshal writes what a jq program reads or yields, without escaping characters of HTML.
func marshal(v any) []byte {
	text, _ := gojq.Marshal(v) // it never fails
	return text
}
