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

// Plain is a [Config.Hash] that stores keys as they are, readable in the store, including any
// part of a body in them.
func Plain(key string) string { return key }

// PowertoolsPython is a [Config.Hash] that stores a key as Powertools for AWS Lambda (Python)
// does, so that functions with either share claims in one table. In Python, the key must be a
// JSON string, such as event_key_jmespath="orderId". [Config.Prefix] must be Python's name of
// the function, "<function>.<module>.<qualified name>", or its key_prefix.
//
// Powertools completes and releases without a check of the owner: a late Powertools worker can
// delete or overwrite a completion of this package. [Config.Content] is compared only between
// functions of this package.
func PowertoolsPython(key string) string {
	sum := md5.Sum(quote(key, true))
	return hex.EncodeToString(sum[:])
}

// PowertoolsTypeScript is like [PowertoolsPython], for Powertools for AWS Lambda (TypeScript).
// [Config.Prefix] must be the function's name, or its keyPrefix.
func PowertoolsTypeScript(key string) string {
	sum := md5.Sum(quote(key, false))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// quote returns a string in JSON with only the necessary escapes, or, with asciiOnly, with all
// characters escaped that are not printable ASCII, as Python's json.dumps does.
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
