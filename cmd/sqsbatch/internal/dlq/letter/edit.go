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
type Edit program

// CompileEdit checks a program for [Edit.Apply].
func CompileEdit(text string) (*Edit, error) {
	p, err := compile("--edit", text)
	return (*Edit)(p), err
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
	outputs, err := (*program)(e).run(&l, now, 2)
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
	return l.with(object, []byte(l.Body))
}

// members are what an edit can change.
var members = []string{"body", "attributes", "group"}

// with returns the letter with the values of members after an edit. like is JSON that shows how a
// body is written, as for appendLike.
func (l Letter) with(object map[string]any, like []byte) (Letter, error) {
	for _, name := range members {
		if _, ok := object[name]; !ok {
			return l, fmt.Errorf("the object has no %s; it must have body, attributes and group", name)
		}
	}
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
		edited.Body = string(appendLike(nil, value, bytes.TrimSpace(like), 0))
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
		value := values[name]
		if value == nil {
			continue
		}
		if !existed || !same(old[name], value) {
			if a, err = attributeOf(value, a.DataType); err != nil {
				return l, fmt.Errorf("attribute %q: %w", name, err)
			}
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
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			at := min(int(syntax.Offset), len(text))
			return l, fmt.Errorf("line %d is not JSON: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
		}
		return l, errors.New("it is not a JSON object") // err could quote the text
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(members, name) {
			return l, fmt.Errorf("it has the member %q; only body, attributes and group can be edited", name)
		}
	}
	value, _ := parse(text)
	object, _ := value.(map[string]any) // nil for null
	return l.with(object, raw["body"])
}

// same reports whether two JSON values are equal, their numbers by all digits.
func same(a, b any) bool { return bytes.Equal(marshal(a), marshal(b)) }

// maxLike is the number of levels in which the old text is looked at. Each level reads all that is
// below it, so a message with 9,000 levels could take minutes.
const maxLike = 100

// appendLike appends v as compact JSON. like is JSON from before: members are in its order, before
// new ones, and a string or a number that is the same keeps its spelling. like may be nil or a
// value of another type. depth is the number of levels above v.
func appendLike(dst []byte, v any, like []byte, depth int) []byte {
	if depth > maxLike {
		like = nil
	}
	switch v := v.(type) {
	case map[string]any:
		old, left := maps.Collect(show.Members(like)), maps.Clone(v) // of members with the same name the last one counts
		dst = append(dst, '{')
		write := func(name string) {
			if _, is := left[name]; !is {
				return
			}
			if len(left) < len(v) {
				dst = append(dst, ',')
			}
			delete(left, name)
			dst = append(append(dst, marshal(name)...), ':')
			dst = appendLike(dst, v[name], old[name], depth+1)
		}
		for name := range show.Members(like) {
			write(name)
		}
		for _, name := range slices.Sorted(maps.Keys(left)) {
			write(name)
		}
		return append(dst, '}')
	case []any:
		var old []json.RawMessage
		_ = json.Unmarshal(like, &old) // none if it is no array
		old = append(old, make([]json.RawMessage, max(0, len(v)-len(old)))...)
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendLike(dst, element, old[i], depth+1)
		}
		return append(dst, ']')
	}
	if old, err := parse(like); err == nil && same(old, v) {
		return append(dst, like...)
	}
	return append(dst, marshal(v)...)
}

// marshal writes what a jq program reads or yields, without escaping characters of HTML.
func marshal(v any) []byte {
	text, _ := gojq.Marshal(v) // it never fails
	return text
}
