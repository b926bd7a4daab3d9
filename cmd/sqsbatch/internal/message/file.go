package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A File has the messages of a file.
type File struct {
	Messages []Message
	// Body describes the body if the whole file is one body, as in "a JSON object". It is ""
	// for an event and for the output of `aws sqs receive-message`.
	Body string
	// Elements is the number of elements if that body is a JSON array, else 0.
	Elements int
	// Counted is true if messages of `aws sqs receive-message` had receive counts, which are
	// left out.
	Counted bool
	// Sources are the ARNs of the queues of an event's records.
	Sources []string
}

// asLines is the part of errors with a way to send the file as a body.
const asLines = "to send it as the body of a message, give it on one line of standard input, as in `jq -c . FILE | sqsbatch local PACKAGE -`"

// Parse reads a file: an SQS event, the JSON output of `aws sqs receive-message`, messages
// of that output in lines, as `sqsbatch dlq export` writes them, or one body.
func Parse(data []byte) (File, error) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return File{}, errors.New("it is UTF-16; write it as UTF-8 (in PowerShell: | Out-File -Encoding utf8 FILE)")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return File{}, errors.New("it is empty; `aws sqs receive-message` prints nothing when it received nothing")
	case !utf8.Valid(data):
		return File{}, errors.New("it is not UTF-8 text")
	case text[0] != '{' && text[0] != '[':
		return body(data, kind(text)), nil
	}
	list, err := values(text)
	if err != nil {
		return File{}, fmt.Errorf("it begins like JSON, but is not: %w; %s", describe(data, err), strings.Replace(asLines, "`jq -c . FILE", "`tr -d '\\n' < FILE", 1))
	}
	if areLetters(list) {
		return parseMessages(slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]")), "it has messages in lines")
	}
	if len(list) > 1 {
		return File{}, fmt.Errorf("it has %d JSON values; send a message of each line by `sqsbatch local PACKAGE - < FILE`, or give each a file", len(list))
	}
	if text[0] == '[' {
		return parseList(data, text)
	}
	var top map[string]json.RawMessage
	_ = json.Unmarshal(text, &top) // text is an object
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, has := top[name]; return !has })
	}
	switch {
	case has("Records", "Messages"):
		return File{}, errors.New("it has Records, as an event of Lambda, and Messages, as what `aws sqs receive-message` prints; " + asLines)
	case has("Records"):
		if isS3(top["Records"]) {
			return body(data, "a notification of S3"), nil
		}
		messages, sources, err := Event(data)
		if err != nil {
			return File{}, fmt.Errorf("%w; %s", err, asLines)
		}
		return File{Messages: messages, Sources: sources}, nil
	case has("Messages"):
		return parseMessages(top["Messages"], "it has Messages")
	case has("messageId", "body", "eventSource"):
		return File{}, errors.New(`it is one record of an event; put it into {"Records": [ … ]}, or ` + asLines)
	case has("MessageId", "Body", "ReceiptHandle"):
		return File{}, errors.New("it is one message of what `aws sqs receive-message` prints" + `; put it into {"Messages": [ … ]}, or ` + asLines)
	}
	return body(data, "a JSON object"), nil
}

// areLetters reports whether lines are of a file of `sqsbatch dlq export`, with a message
// in each line. A single line must name its queue, because it could also be a body.
func areLetters(lines [][]byte) bool {
	queues := 0
	for _, line := range lines {
		var letter map[string]json.RawMessage
		if json.Unmarshal(line, &letter) != nil || letter["MessageId"] == nil || !bytes.HasPrefix(letter["Body"], []byte(`"`)) {
			return false
		}
		if letter["Queue"] != nil {
			queues++
		}
	}
	return len(lines) > 1 || queues > 0
}

// parseMessages reads a file of received messages. what describes the file in errors.
func parseMessages(list json.RawMessage, what string) (File, error) {
	messages, counted, err := received(list)
	if err != nil {
		return File{}, fmt.Errorf("%s, but is not what `aws sqs receive-message` prints: %w; %s", what, err, asLines)
	}
	return File{Messages: messages, Counted: counted}, nil
}

// parseList reads a file that is a JSON array: one body, or an error if it has events or
// records.
func parseList(data, text []byte) (File, error) {
	var list []json.RawMessage
	_ = json.Unmarshal(text, &list) // text is a list
	var item struct {
		Records, Messages *json.RawMessage
		ReceiptHandle     *string `json:"receiptHandle"`
		Body              *string `json:"body"`
	}
	if len(list) > 0 && json.Unmarshal(list[0], &item) == nil && (item.Records != nil || item.Messages != nil || item.ReceiptHandle != nil && item.Body != nil) {
		return File{}, errors.New(`it is an array of events or records; give each event a file, or put the records into {"Records": [ … ]} or {"Messages": [ … ]}; ` + asLines)
	}
	file := body(data, fmt.Sprintf("a JSON array of %d", len(list)))
	file.Elements = len(list)
	return file, nil
}

// body returns a File of one body, without the last line feed.
func body(data []byte, kind string) File {
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	return File{Messages: []Message{{Body: text}}, Body: kind}
}

// kind describes a body that is not a JSON object or array.
func kind(text []byte) string {
	switch n := 1 + bytes.Count(text, []byte("\n")); {
	case json.Valid(text):
		return "a JSON value"
	case n == 1:
		return "text"
	default:
		return fmt.Sprintf("text of %d lines", n)
	}
}

// values returns the JSON values in text.
func values(text []byte) (list [][]byte, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		switch err = d.Decode(&value); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, value)
	}
}

// isS3 reports whether records are of a notification of S3, which is a body and not an event.
func isS3(records json.RawMessage) bool {
	var list []struct {
		EventSource string `json:"eventSource"`
		Body        *string
	}
	return json.Unmarshal(records, &list) == nil && len(list) > 0 && list[0].EventSource == "aws:s3" && list[0].Body == nil
}

// received reads the messages that `aws sqs receive-message` prints.
func received(raw json.RawMessage) (messages []Message, counted bool, err error) {
	var list []struct {
		Body              *string
		Attributes        systemAttributes
		MessageAttributes map[string]struct {
			DataType    string
			StringValue string
			BinaryValue []byte
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false, err
	}
	if list == nil {
		return nil, false, errors.New("they are null")
	}
	for i, r := range list {
		if r.Body == nil {
			return nil, false, fmt.Errorf("message %d has no Body", i+1)
		}
		m := r.Attributes.message(*r.Body)
		counted, m.Attempt = counted || m.Attempt > 1, 0
		for name, a := range r.MessageAttributes {
			m.SetAttribute(name, batch.MessageAttribute(a))
		}
		messages = append(messages, m)
	}
	return messages, counted, nil
}
