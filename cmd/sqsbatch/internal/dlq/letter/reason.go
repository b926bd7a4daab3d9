package letter

import (
	"regexp"
	"strings"
)

// ReasonGroup returns a reason without the parts that differ from message to message, so that
// "no customer 17" and "no customer 18" are in one group, "no customer N". It replaces
//
//   - quoted text by "…"
//   - times by TIME, e-mail addresses by EMAIL
//   - what follows the service in an ARN by …
//   - UUIDs, hexadecimal ids and other long ids by ID
//   - other numbers by N, but not HTTP statuses and not the digits of names like S3
//
// The group of a group is the group itself.
func ReasonGroup(reason string) string {
	reason = strings.Join(strings.Fields(reason), " ")
	// A placeholder can complete another part, such as a quotation. So replace again until
	// nothing changes.
	for range 5 {
		group := variable.ReplaceAllStringFunc(reason, placeholder)
		if group == reason {
			break
		}
		reason = group
	}
	return reason
}

// variable finds the parts of a reason that may differ. The order matters: at a position, the
// first alternative that matches is taken.
var variable = regexp.MustCompile(strings.Join([]string{
	"\"(?:[^\"\\\\]|\\\\.)*(?:\"|\\\\?$)", // a reason may be cut off
	`\B'[^']*'\B`,                         // but not the apostrophes of words
	"`[^`]*`",
	`\barn:[\w-]+:[\w-]+:[^\s"',;)]*`,
	`\b[\w.%+-]+@[\w-]+(?:\.[\w-]+)+`,
	`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
	`(?i:\b(?:status(?:[ _]?code)?|http(?:/[\d.]+)?)[:= ]+[1-5]\d\d\b)`,
	`(?i:\b(?:s3|ec2|sha\d+|md5|utf-?8|utf-?16|base64|http/[\d.]+|ipv[46]|x86|v[12]|oauth2|h2)\b)`,
	`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`,
	`\b0x[0-9a-fA-F]+\b`,
	`\b[0-9A-Za-z]{8,}\b`,
	`\d+(?:\.\d+)*`,
}, "|"))

// placeholder is what stands for a match of variable.
func placeholder(match string) string {
	switch {
	case strings.ContainsRune("\"'`", rune(match[0])):
		return `"…"`
	case strings.HasPrefix(match, "arn:"):
		parts := strings.SplitN(match, ":", 4)
		return strings.Join(parts[:3], ":") + ":…"
	case strings.Contains(match, "@"):
		return "EMAIL"
	case isDate.MatchString(match):
		return "TIME"
	case strings.Count(match, "-") == 4, strings.HasPrefix(match, "0x"), isID(match):
		return "ID"
	case strings.Trim(match, "0123456789.") == "":
		return "N"
	case onlyDigitsVary.MatchString(match):
		return match // a status, or a name with digits
	default:
		return number.ReplaceAllString(match, "N") // a long word
	}
}

var (
	isDate         = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)
	onlyDigitsVary = regexp.MustCompile(`(?i)^(?:status|http|s3$|ec2$|sha\d+$|md5$|utf|base64$|ipv|x86$|v[12]$|oauth2$|h2$)`)
	number         = regexp.MustCompile(`\d+`)
)

// isID reports whether a word looks like an id: 16 letters and digits with both among them,
// or 8 hexadecimal digits with both.
func isID(word string) bool {
	hex, digits, letters := true, 0, 0
	for _, c := range []byte(word) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
			hex = hex && c|0x20 <= 'f'
		default:
			return false
		}
	}
	return digits > 0 && letters > 0 && (len(word) >= 16 || hex && len(word) >= 8)
}
