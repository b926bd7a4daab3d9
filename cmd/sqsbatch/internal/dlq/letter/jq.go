package letter

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// Input returns what a jq program reads of a letter. `sqsbatch help dlq` describes its members
// (notes in package dlq). Age and times, as RFC 3339 in UTC, are null if they are not known, and
// queue is left out. Numbers keep all their digits.
func (l *Letter) Input(now time.Time) map[string]any {
	in := map[string]any{
		"id":            l.ID,
		"body":          parsed(l.Body),
		"text":          l.Body,
		"attributes":    l.attributeValues(),
		"reason":        l.Reason(),
		"age":           nil,
		"receives":      l.Attempt,
		"source":        l.SourceARN(),
		"sourceName":    l.SourceName(),
		"group":         l.GroupID,
		"sent":          timeValue(l.Sent),
		"firstReceived": timeValue(l.FirstReceived),
		"failedAt":      nil,
	}
	if !l.Sent.IsZero() {
		in["age"] = int(now.Sub(l.Sent) / time.Second)
	}
	if o := l.origin(); o != nil {
		in["failedAt"] = timeValue(o.FailedAt)
	}
	if l.Queue != "" {
		in["queue"] = l.Queue
	}
	return in
}

func timeValue(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// parsed returns the JSON value of a text, or the text if it is not JSON.
func parsed(text string) any {
	if v, err := parse([]byte(text)); err == nil {
		return v
	}
	return text
}

// parse decodes one JSON value. Numbers are json.Number, which keeps all digits.
func parse(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil || len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")) > 0 {
		return nil, errNotJSON
	}
	return v, nil
}

var errNotJSON = errors.New("not JSON")

func (l *Letter) attributeValues() map[string]any {
	values := make(map[string]any, len(l.Attributes))
	for name, a := range l.Attributes {
		switch kindOf(a.DataType) {
		case "Binary":
			values[name] = base64.StdEncoding.EncodeToString(a.BinaryValue)
		case "Number":
			values[name] = numberOf(a.StringValue)
		default:
			values[name] = a.StringValue
		}
	}
	return values
}

// kindOf is a data type without its custom label: "Number" for "Number.cents".
func kindOf(dataType string) string {
	kind, _, _ := strings.Cut(dataType, ".")
	return kind
}

// numberOf returns the number that an attribute has as text. SQS allows a plus sign, leading
// zeros and a point without digits on one side, which JSON does not. It returns the text if
// that is not a number.
func numberOf(text string) any {
	parts := attributeNumber.FindStringSubmatch(text)
	if parts == nil || parts[2]+parts[3] == "" {
		return text
	}
	sign, whole, fraction, exponent := parts[1], strings.TrimLeft(parts[2], "0"), parts[3], parts[4]
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return json.Number(strings.TrimPrefix(sign, "+") + whole + fraction + exponent)
}

var attributeNumber = regexp.MustCompile(`^([+-]?)([0-9]*)\.?([0-9]*)([eE][+-]?[0-9]+)?$`)

// A program is a compiled jq program. It cannot read files, the environment or further
// inputs.
type program struct {
	flag string // names it in errors
	code *gojq.Code
}

// maxTime is how long a program may run for a letter. It is checked between the program's
// steps.
const maxTime = time.Second

func compile(flag, text string) (*program, error) {
	query, err := gojq.Parse(text)
	if syntax, is := errors.AsType[*gojq.ParseError](err); is {
		start := max(0, min(syntax.Offset-len(syntax.Token), len(text)))
		err = fmt.Errorf("%w, at character %d", err, 1+utf8.RuneCountInString(text[:start]))
	}
	var code *gojq.Code
	if err == nil {
		code, err = gojq.Compile(query)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, text, err)
	}
	return &program{flag, code}, nil
}

// run returns the first outputs for a letter, at most limit. The error names the letter's
// id, and contains nothing of the letter.
func (p *program) run(l *Letter, now time.Time, limit int) ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxTime)
	defer cancel()
	var outputs []any
	for results := p.code.RunWithContext(ctx, l.Input(now)); len(outputs) < limit; {
		output, ok := results.Next()
		if !ok {
			break
		}
		if err, failed := output.(error); failed {
			return nil, fmt.Errorf("%s cannot be evaluated for message %s: %s", p.flag, show.Clean(l.ID), harmless(err))
		}
		outputs = append(outputs, output)
	}
	return outputs, nil
}

var (
	// quoted is what gojq's errors quote, which may come from the body: from the first value on.
	quoted   = regexp.MustCompile(`(?s)["(\[{].*| -?\d.*`)
	function = regexp.MustCompile(`^[a-z0-9_]+`)
)

// harmless is the text of an error of gojq without the values that it quotes.
func harmless(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the program runs for more than %s", maxTime)
	}
	if _, is := errors.AsType[*gojq.HaltError](err); is {
		return "the program calls halt"
	}
	if _, is := errors.AsType[gojq.ValueError](err); is {
		return "the program calls error"
	}
	text := quoted.ReplaceAllString(err.Error(), "…")
	if name := function.FindString(text); strings.Contains(err.Error(), "cannot be applied to") {
		return name + " cannot be applied to its input"
	}
	return text
}
