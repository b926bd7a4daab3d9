package letter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Editable returns what a text editor shows of a letter: an object with body, attributes and
// group as in [Letter.Input], in lines.
func Editable(l Letter) []byte {
	body := []byte(l.Body)
	if !json.Valid(body) {
		body = marshal(l.Body)
	}
	text := slices.Concat(
		[]byte(`{"body":`), body,
		[]byte(`,"attributes":`), marshal(l.attributeValues()),
		[]byte(`,"group":`), marshal(l.GroupID), []byte("}"))
	var out bytes.Buffer
	_ = json.Indent(&out, text, "", "  ") // it is JSON
	out.WriteByte('\n')
	return out.Bytes()
}

// FromEdited returns the letter after its [Editable] text was changed, by the rules of
// [Edit.Apply]. A body that changed is written as compact JSON, with the order and the
// numbers of the text. The error says what is wrong in the text, or why SQS would refuse the
// message.
func FromEdited(l Letter, text []byte) (Letter, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // some editors write a byte order mark
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return l, atLine(text, err)
	}
	if object == nil {
		return l, errors.New("it is null; it must be an object with body, attributes and group")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(members, name) {
			return l, fmt.Errorf("it has the member %q; only body, attributes and group can be edited", name)
		}
	}
	values := make(map[string]any, len(members))
	for _, name := range members {
		raw, ok := object[name]
		if !ok {
			return l, fmt.Errorf("it has no %s", name)
		}
		v, err := parse(raw)
		if err != nil {
			return l, fmt.Errorf("%s: %w", name, err)
		}
		values[name] = v
	}
	body, err := l.newBody(values["body"], func(any) string { return string(appendCompact(nil, object["body"])) })
	if err != nil {
		return l, err
	}
	return l.with(body, values["attributes"], values["group"])
}

// atLine says in which line JSON is wrong. It quotes nothing of it.
func atLine(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return errors.New("it is not a JSON object")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("it is empty")
	}
	at := min(int(syntax.Offset), len(text))
	if strings.Contains(err.Error(), "unexpected end") {
		return errors.New("it ends too early")
	}
	return fmt.Errorf("line %d is not JSON: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
}
