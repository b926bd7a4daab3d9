package jsonbody

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

// Fault says what is wrong with a body, in this package's words. Those of encoding/json
// differ by version, and contain keys and values of the body.
type Fault struct {
	what  string
	after string   // what follows the offset
	path  []string // names of Go's fields, the innermost first
	at    int      // how many bytes are before it, -1 if it is nowhere
	err   error
}

func nowhere(what string, err error) *Fault { return &Fault{what: what, at: -1, err: err} }

// Unwrap returns the decoder's error, whose text may quote the body.
func (f *Fault) Unwrap() error { return f.err }

// Reason says what is wrong, and where.
func (f *Fault) Reason() string {
	var b strings.Builder
	if len(f.path) > 0 {
		path := slices.Clone(f.path)
		slices.Reverse(path)
		fmt.Fprintf(&b, "field %q: ", short(strings.Join(path, ".")))
	}
	b.WriteString(f.what)
	if f.at >= 0 {
		if f.what != notJSON {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " at offset %d%s", f.at, f.after)
	}
	return b.String()
}

// Within returns the reason for an error in a part of a body. It puts the part's name
// before that of a field, and counts offsets in the whole body, starting from offset, see
// [Offset].
func (f *Fault) Within(part string, offset func() int) string {
	if f.at < 0 {
		return part + ": " + f.Reason()
	}
	moved := *f
	moved.at += offset()
	if !f.syntax() {
		moved.path = append(slices.Clone(f.path), part)
	}
	return moved.Reason()
}

// maxReason is enough for a few fields' names.
const maxReason = 200

// short cuts a text that is too long for a reason.
func short(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return words.Shorten(s, maxReason) + "…"
}

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
