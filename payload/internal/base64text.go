// Package base64text decodes the variants of base64 that senders use: the standard alphabet
// or the one for URLs, padded or not, in one line or in several.
package base64text

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Append appends the decoded text to dst. Its errors say where the text is wrong and quote
// nothing of it.
func Append(dst []byte, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	padded := strings.HasSuffix(text, "=")
	encoding := base64.RawStdEncoding
	switch url := strings.IndexByte(text, '-') >= 0 || strings.IndexByte(text, '_') >= 0; {
	case url && padded:
		encoding = base64.URLEncoding
	case url:
		encoding = base64.RawURLEncoding
	case padded:
		encoding = base64.StdEncoding
	}
	out, err := encoding.AppendDecode(dst, []byte(text))
	if corrupt := base64.CorruptInputError(0); errors.As(err, &corrupt) {
		return dst, fmt.Errorf("not valid base64 at offset %d", int64(corrupt))
	}
	return out, err
}
