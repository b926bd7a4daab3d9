package jsonbody

import (
	"encoding/json"
	"strings"
)

// Offset returns where a value begins in body, which must be valid JSON. path has names and
// indices. As in encoding/json, case does not matter, and the last member of a name counts.
// If a part is missing, Offset returns where the path ends.
func Offset(body string, path ...any) int {
	offset := 0
	for _, step := range path {
		at, ok := within(body[offset:], step)
		if !ok {
			break
		}
		offset += at
	}
	return offset
}

// within returns where a member or an element of the value that text begins with does.
func within(text string, step any) (offset int, found bool) {
	d := json.NewDecoder(strings.NewReader(text))
	open, err := d.Token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return 0, false
	}
	for i := 0; err == nil && d.More(); i++ {
		wanted := step == i
		if open == json.Delim('{') {
			var name json.Token
			name, err = d.Token()
			own, _ := name.(string)
			member, isName := step.(string)
			wanted = isName && strings.EqualFold(own, member)
		}
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if wanted && err == nil {
			offset, found = int(d.InputOffset())-len(value), true
			if open == json.Delim('[') {
				break
			}
		}
	}
	return offset, found
}
