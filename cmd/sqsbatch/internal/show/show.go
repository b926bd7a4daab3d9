// Package show formats the texts of messages for `sqsbatch local` and `sqsbatch sqs`: in
// one line, and without characters that control the terminal.
package show

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

// Body returns a message's body in one line: a JSON object as "key=value key=value", other
// texts without control characters and with collapsed white space. For a notification of
// SNS it returns the message in the envelope.
func Body(body string) string {
	if message, ok := notification(body); ok {
		return "SNS: " + Body(message)
	}
	if members, ok := parseObject(body); ok {
		return cmp.Or(join(members), "{}")
	}
	return Clean(strings.Join(strings.Fields(body), " "))
}

// Brief returns Body, cut to at most width characters.
func Brief(body string, width int) string { return Fit(Body(body), width) }

// notification returns the message in an SNS envelope (Amazon SNS
// Developer Guide, "HTTP/HTTPS notification JSON format").
func notification(body string) (message string, ok bool) {
	if !strings.Contains(body, `"TopicArn"`) {
		return "", false
	}
	var envelope struct {
		Type, TopicArn string
		Message        *string
	}
	if json.Unmarshal([]byte(body), &envelope) != nil || envelope.Type != "Notification" || envelope.TopicArn == "" || envelope.Message == nil {
		return "", false
	}
	return *envelope.Message, true
}

// A member is a key and a value of a JSON object, as they are shown.
type member struct{ key, value string }

func join(members []member) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = m.key + "=" + m.value
	}
	return strings.Join(parts, " ")
}

// parseObject returns the members of a JSON object in order, false for other texts.
func parseObject(s string) (members []member, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(s), "{") || !json.Valid([]byte(s)) {
		return nil, false
	}
	for key, value := range Members([]byte(s)) {
		members = append(members, member{Clean(key), scalar(value)})
	}
	return members, true
}

// Members returns the members of a JSON object in order.
func Members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		_, _ = d.Token() // the brace
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			var value json.RawMessage
			if d.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// Log returns a line of the function's output. For a JSON object, as slog writes it, Log
// returns the level, message and attributes.
func Log(s string) string {
	members, ok := parseObject(s)
	if !ok {
		return Clean(s)
	}
	var parts []string
	var rest []member
	for _, m := range members {
		switch m.key {
		case "level", "msg", "message":
			if unquoted, err := strconv.Unquote(m.value); err == nil {
				m.value = Clean(unquoted)
			}
			parts = append(parts, m.value)
		case "time", "timestamp", "requestId":
		default:
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		parts = append(parts, join(rest))
	}
	return strings.Join(parts, " ")
}

// scalar returns a JSON value, without quotes if they are not needed.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		if s == "" || strings.ContainsAny(s, " =\"\n\t") {
			return fmt.Sprintf("%q", s)
		}
		return Clean(s)
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // raw is valid JSON
	return Clean(b.String())
}

// Clean returns s in one line: tabs, line feeds and carriage returns become spaces. Other hidden
// characters are escaped as by [Out], but before columns are counted.
func Clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, words.Hidden) {
		return s
	}
	var b []byte
	for _, r := range s {
		if r == '\t' || r == '\n' || r == '\r' {
			r = ' '
		}
		b = appendVisible(b, r)
	}
	return string(b)
}

// Count returns a number with a noun: "1 record", "2 records". The plural is noun with an s
// if it is not given.
func Count(n int, noun string, plural ...string) string {
	if n != 1 {
		noun = append(plural, noun+"s")[0]
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Number returns a number with commas between thousands.
func Number(n int) string {
	text := strconv.Itoa(n)
	sign := strings.TrimRight(text, "0123456789")
	for i := len(text) - 3; i > len(sign); i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Quote returns arg as one word of a POSIX shell, in quotes if it must be.
func Quote(arg string) string {
	special := strings.ContainsFunc(arg, func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,@+%", r)
	})
	if arg != "" && !special {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Fit returns s, cut to at most width characters, or whole for width 0. It cuts between
// words, unless less than half of the width would remain.
func Fit(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)[:width-1]
	for end := len(runes) - 1; end >= width/2; end-- {
		if runes[end] == ' ' {
			return string(runes[:end+1]) + "…"
		}
	}
	return string(runes) + "…"
}

// Wrap breaks s between words into lines of at most width characters. A longer word has a
// line of its own.
func Wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

var particular = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9]+`)

// General leaves numbers, ids and line breaks out of a reason, so that messages with the same problem
// have the same one.
func General(reason string) string {
	return strings.Join(strings.Fields(particular.ReplaceAllString(reason, "…")), " ")
}
