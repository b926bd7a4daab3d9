package jsonbody

import (
	"encoding/json"
	"strings"
)

// Offset returns where a value begins in body, valid JSON, by a path of names and
// indices: case does not count, the last of a name does, as for encoding/json. What
// is missing is where the path breaks off.
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
