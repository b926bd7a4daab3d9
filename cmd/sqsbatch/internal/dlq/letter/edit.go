package letter

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// An Edit is a compiled jq program that changes letters.
type Edit struct{ program *program }

// CompileEdit checks a program for [Edit.Apply].
func CompileEdit(text string) (*Edit, error) {
	p, err := compile("--edit", text)
	if err != nil {
		return nil, err
	}
	return &Edit{p}, nil
}

// Apply runs the program on a letter. The program reads what [Letter.Input] returns, and must
// yield one object. Its members body, attributes and group are the edited message; all three
// must be there. keep is false if the program yields nothing (empty): the letter is to stay
// where it is.
//
//   - body: a string is the new body as it is; another value is written as compact JSON. If
//     the body was a JSON string, a string is written as JSON, too. A body whose value did not
//     change keeps its bytes. In other bodies the members keep their order, and new ones
//     follow.
//   - attributes: null removes one, and so does leaving it out. Attributes that did not
//     change keep their bytes. A new one gets the type String or Number. A changed one keeps
//     its type, unless a number becomes a string or the reverse.
//   - group: null or "" for none.
//
// The error names the letter's id. It is also about messages that SQS would refuse.
func (e *Edit) Apply(l Letter, now time.Time) (edited Letter, keep bool, err error) {
	outputs, err := e.program.run(&l, now, 2)
	if err != nil {
		return l, false, err
	}
	if len(outputs) == 0 {
		return l, false, nil
	}
	edited, err = l.apply(outputs)
	if err != nil {
		return l, false, fmt.Errorf("--edit of message %s: %w", show.Clean(l.ID), err)
	}
	return edited, true, nil
}

func (l Letter) apply(outputs []any) (Letter, error) {
	object, ok := outputs[0].(map[string]any)
	switch {
	case len(outputs) > 1:
		return l, errors.New("the program yields more than one value; it must yield one object, or nothing to leave the letter where it is")
	case !ok:
		return l, fmt.Errorf("the program yields %s; it must yield an object with body, attributes and group", aValue(outputs[0]))
	case object["text"] != nil && object["text"] != l.Body:
		return l, errors.New("the program changes text, which is the old body as a string; change body")
	}
	for _, name := range members {
		if _, ok := object[name]; !ok {
			return l, fmt.Errorf("the program's object has no %s; .%s keeps it as it is", name, name)
		}
	}
	return l.with(object, func(old any) []byte { return encodeLike(nil, object["body"], old, []byte(l.Body), 0) })
}

// members are what an edit can change.
var members = []string{"body", "attributes", "group"}

// with returns the letter with the values of members after an edit. encode writes a body that is
// not taken as text; old is its value before.
func (l Letter) with(object map[string]any, encode func(old any) []byte) (Letter, error) {
	edited := l
	before, err := parse([]byte(l.Body))
	if err != nil {
		before = l.Body
	}
	value := object["body"]
	text, isString := value.(string)
	_, wasString := before.(string)
	switch {
	case same(before, value): // it keeps its bytes
	case value == nil:
		return l, errors.New("the body is null")
	case isString && (err != nil || !wasString):
		edited.Body = text
	default:
		edited.Body = string(encode(before))
	}
	values, ok := object["attributes"].(map[string]any)
	if !ok && object["attributes"] != nil {
		return l, fmt.Errorf("attributes is %s; it must be an object", aValue(object["attributes"]))
	}
	edited.GroupID, ok = object["group"].(string)
	if !ok && object["group"] != nil {
		return l, fmt.Errorf("group is %s; it must be a string", aValue(object["group"]))
	}
	edited.Attributes, edited.Origin = nil, nil
	old := l.attributeValues()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a, existed := l.Attributes[name]
		switch value := values[name]; {
		case value == nil:
			continue
		case !existed || !same(old[name], value):
			changed, err := attributeOf(value, a.DataType)
			if err != nil {
				return l, fmt.Errorf("attribute %q: %w", name, err)
			}
			a = changed
		}
		edited.SetAttribute(name, a)
	}
	edited.readOrigin()
	return edited, edited.Validate()
}

// attributeOf is an attribute with a new value. dataType is its old type, "" if it is new.
func attributeOf(value any, dataType string) (a batch.MessageAttribute, err error) {
	kind := kindOf(dataType)
	switch value := value.(type) {
	case string:
		if kind == "Binary" {
			a.BinaryValue, err = base64.StdEncoding.DecodeString(value)
			if err != nil {
				return a, errors.New("its value is not base64, as that of a binary attribute must be")
			}
			a.DataType = dataType
			return a, nil
		}
		a.DataType, a.StringValue = "String", value
	case int, float64, json.Number, *big.Int:
		a.DataType, a.StringValue = "Number", string(marshal(value))
	default:
		return a, fmt.Errorf("its value is %s; it must be a string or a number", aValue(value))
	}
	if a.DataType == kind {
		a.DataType = dataType
	}
	return a, nil
}

// aValue names a value's type: "an object".
func aValue(v any) string {
	switch name := gojq.TypeOf(v); name {
	case "null":
		return name
	case "array", "object":
		return "an " + name
	default:
		return "a " + name
	}
}

// Editable returns what a text editor shows of a letter: an object with body, attributes and
// group as in [Letter.Input], in lines. No line is a command for an editor: vi and emacs run those
// that they find in a file ("modelines", "file variables").
func Editable(l Letter) []byte {
	body := []byte(l.Body)
	if !json.Valid(body) {
		body = marshal(l.Body)
	}
	text := pretty(string(slices.Concat(
		[]byte(`{"body":`), body,
		[]byte(`,"attributes":`), marshal(l.attributeValues()),
		[]byte(`,"group":`), marshal(l.GroupID), []byte("}")))) + "\n"
	// In JSON these are only within strings, where an escape is the same text.
	text = modeline.ReplaceAllString(text, `${1}\u003a`)
	return []byte(strings.NewReplacer("-*-", `-\u002a-`, "Variables:", `Variables\u003a`).Replace(text))
}

var modeline = regexp.MustCompile(`(?i)((?:vim?|ex|kate)[<=>]?\d*):`)

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
	return l.with(values, func(any) []byte { return appendCompact(nil, object["body"]) })
}

// atLine says in which line JSON is wrong. It quotes nothing of it.
func atLine(text []byte, err error) error {
	syntax, is := errors.AsType[*json.SyntaxError](err)
	switch {
	case !is:
		return errors.New("it is not a JSON object")
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("it is empty")
	case strings.Contains(err.Error(), "unexpected end"):
		return errors.New("it ends too early")
	}
	at := min(int(syntax.Offset), len(text))
	return fmt.Errorf("line %d is not JSON: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
}

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
// write an object's members. If raw is not JSON, they say nothing. depth is the number of levels
// above v.
func encodeLike(dst []byte, v, old any, raw []byte, depth int) []byte {
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

// maxLike is the number of levels of changed values in which the old text is looked at. Each
// level reads all that is below it, so a message with 9,000 levels could take minutes.
const maxLike = 100

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
		dst = encodeLike(dst, v[name], oldValues[name], texts[name], depth+1)
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
			dst = encodeLike(dst, element, oldValues[i], texts[i], depth+1)
		} else {
			dst = encodeLike(dst, element, nil, nil, depth+1)
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
