package idempotency

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SHA256 is the default of [Config.Hash]: the SHA-256 of a key, in hex.
func SHA256(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Plain is a [Config.Hash] that stores keys as they are: they can be read in the store,
// together with what they have of a body.
func Plain(key string) string { return key }

// PowertoolsPython is a [Config.Hash] by which a key is stored as Powertools for AWS Lambda
// (Python) stores it, so that functions of both protect each other on one table. The key
// must be a JSON string there, such as event_key_jmespath="orderId", and [Config.Prefix]
// what Python makes of the function: "<function>.<module>.<qualified name>", or its key_prefix.
//
// Powertools completes and releases without looking at the owner: a worker of theirs that is
// late can delete or overwrite a completion of ours. [Config.Content] compares with
// functions of this package only.
func PowertoolsPython(key string) string {
	sum := md5.Sum(quote(key, true))
	return hex.EncodeToString(sum[:])
}

// PowertoolsTypeScript is what [PowertoolsPython] is for Powertools for AWS Lambda
// (TypeScript), whose prefix is the function's name, or its keyPrefix.
func PowertoolsTypeScript(key string) string {
	sum := md5.Sum(quote(key, false))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// quote is a string as JSON, with only those escapes that JSON needs, or with all that is
// not printable ASCII escaped, as Python's json.dumps does.
func quote(s string, asciiOnly bool) []byte {
	out := append(make([]byte, 0, len(s)+2), '"')
	for _, r := range s {
		high, low := utf16.EncodeRune(r)
		switch short := strings.IndexRune("\"\\\b\f\n\r\t", r); {
		case short >= 0:
			out = append(out, '\\', `"\bfnrt`[short])
		case r < ' ', asciiOnly && r > '~' && high == utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x`, r)
		case asciiOnly && r > '~':
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}
