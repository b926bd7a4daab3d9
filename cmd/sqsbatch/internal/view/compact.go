package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Body is a message's body as it is shown in one line: a JSON object as
// "key=value key=value", everything else with its white space collapsed and its
// control characters made visible.
func Body(body string) string {
	if s, ok := object(body); ok {
		return s
	}
	return clean(strings.Join(strings.Fields(body), " "))
}

// Brief is Body, cut to at most width characters.
func Brief(body string, width int) string { return fit(Body(body), width) }

// object writes the members of a JSON object.
func object(s string) (string, bool) {
	members, ok := parseObject(s)
	if ok && len(members) == 0 {
		return "{}", true
	}
	return join(members), ok
}

// A member is one key and value of a JSON object, both fit to be shown.
type member struct{ key, value string }

func join(members []member) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = m.key + "=" + m.value
	}
	return strings.Join(parts, " ")
}

// parseObject lists the members of a JSON object in the order in which they
// stand. It is false when s is anything else.
func parseObject(s string) ([]member, bool) {
	if !strings.HasPrefix(strings.TrimSpace(s), "{") {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(s))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		out = append(out, member{clean(fmt.Sprint(key)), scalar(value)})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false // something follows the object
	}
	return out, true
}

// logText is a line of the function's own. One that is JSON, as slog and
// Lambda's own loggers write it, becomes its level, message and attributes;
// what every line has or the display says anyway is left out.
func logText(s string) string {
	members, ok := parseObject(s)
	if !ok {
		return clean(s)
	}
	var head, rest []member
	for _, m := range members {
		switch m.key {
		case "level", "msg", "message":
			head = append(head, m)
		case "time", "timestamp", "requestId":
		default:
			rest = append(rest, m)
		}
	}
	var parts []string
	for _, m := range head {
		if unquoted, err := strconv.Unquote(m.value); err == nil {
			m.value = clean(unquoted)
		}
		parts = append(parts, m.value)
	}
	if len(rest) > 0 {
		parts = append(parts, join(rest))
	}
	return strings.Join(parts, " ")
}

// scalar is a JSON value without quotes where none are needed.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		if s == "" || strings.ContainsAny(s, " =\"\n\t") {
			return fmt.Sprintf("%q", s)
		}
		return clean(s)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return clean(string(raw))
	}
	return clean(b.String())
}

// clean makes control characters visible, so that no body, reason or log line
// can move the cursor or change colours.
func clean(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fit cuts s to at most width characters; width 0 leaves it whole.
func fit(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return string(runes[:width-1]) + "…"
}

// pad fills s with spaces up to width characters.
func pad(s string, width int) string {
	if n := width - utf8.RuneCountInString(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// short is d with two or three significant digits.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < 100*time.Microsecond:
		return "<0.1ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		s := fmt.Sprintf("%.1fs", d.Seconds())
		return strings.Replace(s, ".0s", "s", 1)
	case d < time.Hour:
		d = d.Round(time.Second)
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60), "00s")
	default:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60), "00m")
	}
}

// count is "1 record", "2 records".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
