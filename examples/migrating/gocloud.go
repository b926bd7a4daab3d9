package main

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strconv"

	"github.com/sqsbatch/sqsbatch/batch"
)

// fromGocloud undoes what awssnssqs does when it sends. It is needed while the
// senders use that, and for nothing else.
func fromGocloud(r batch.Record) (body []byte, metadata map[string]string, err error) {
	metadata = make(map[string]string, len(r.MessageAttributes))
	for name, attribute := range r.MessageAttributes {
		value, err := url.PathUnescape(attribute.StringValue)
		if err != nil {
			value = attribute.StringValue
		}
		metadata[escaped.ReplaceAllStringFunc(name, unescape)] = value
	}
	if _, coded := metadata["base64encoded"]; !coded {
		return []byte(r.Body), metadata, nil
	}
	delete(metadata, "base64encoded")
	if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
		return nil, nil, &batch.MalformedError{Reason: "not valid base64, though its attribute base64encoded says so", Err: err}
	}
	return body, metadata, nil
}

// escaped is a character that no name of an attribute may have.
var escaped = regexp.MustCompile(`__0x([0-9a-f]+)__`)

func unescape(s string) string {
	code, err := strconv.ParseUint(escaped.FindStringSubmatch(s)[1], 16, 32)
	if err != nil {
		return s
	}
	return string(rune(code))
}
