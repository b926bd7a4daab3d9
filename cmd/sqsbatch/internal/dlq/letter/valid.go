package letter

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Limits of SQS ("Amazon SQS message quotas").
const (
	maxSize       = 1 << 20 // of body and attributes
	maxAttributes = 10
)

// Validate reports why SQS would refuse the message.
func (l *Letter) Validate() error {
	if l.Body == "" {
		return errors.New("the body is empty; SQS takes bodies of at least one character")
	}
	if at := refusedCharacter(l.Body); at != "" {
		return fmt.Errorf("the body has %s, which SQS does not take", at)
	}
	size := len(l.Body)
	if len(l.Attributes) > maxAttributes {
		return fmt.Errorf("the message has %d attributes; SQS takes at most %d", len(l.Attributes), maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		a := l.Attributes[name]
		if err := checkAttribute(name, a); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
		size += len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
	}
	if size > maxSize {
		return fmt.Errorf("body and attributes have %d bytes; SQS takes at most %d", size, maxSize)
	}
	if !groupID.MatchString(l.GroupID) {
		return errors.New("the group may have up to 128 ASCII letters, digits and punctuation characters, without blanks")
	}
	return nil
}

// refusedCharacter describes the first character that SQS does not accept (SendMessage in the
// Amazon SQS API Reference); "" if there is none.
func refusedCharacter(text string) string {
	for i, r := range text {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return fmt.Sprintf("a byte that is not UTF-8 at position %d", i+1)
		case r < ' ' || r == '\uFFFE' || r == '\uFFFF':
			return fmt.Sprintf("the character %U at byte %d", r, i+1)
		}
	}
	return ""
}

var (
	attributeName = regexp.MustCompile(`^[\p{L}\p{Nd}_-]+(?:\.[\p{L}\p{Nd}_-]+)*$`)
	groupID       = regexp.MustCompile(`^[!-~]{0,128}$`)
)

// checkAttribute applies the rules of "Amazon SQS message attributes" in the developer guide.
// The error does not quote the value.
func checkAttribute(name string, a batch.MessageAttribute) error {
	lower := strings.ToLower(name)
	switch {
	case utf8.RuneCountInString(name) > 256 || !attributeName.MatchString(name):
		return errors.New("a name has up to 256 letters, digits, underscores, hyphens and single periods, and no period first or last")
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return errors.New("names that begin with AWS. or Amazon. are reserved")
	case a.StringValue == "" && len(a.BinaryValue) == 0:
		return errors.New("its value is empty; SQS takes no empty values. null removes an attribute")
	}
	if at := refusedCharacter(a.StringValue); at != "" {
		return fmt.Errorf("its value has %s, which SQS does not take", at)
	}
	if kindOf(a.DataType) == "Number" && !validNumber(a.StringValue) {
		return errors.New("its value is not a number that SQS takes: up to 38 digits, between 10^-128 and 10^126")
	}
	return nil
}

// Limits of a number's absolute value.
var (
	leastNumber, _, _    = big.ParseFloat("1e-128", 10, 512, big.ToNearestEven)
	greatestNumber, _, _ = big.ParseFloat("1e126", 10, 512, big.ToNearestEven)
)

func validNumber(text string) bool {
	parts := attributeNumber.FindStringSubmatch(text)
	if parts == nil || len(text) > 256 || len(parts[4]) > len("e-128") {
		return false
	}
	digits := parts[2] + parts[3]
	if digits == "" || len(strings.Trim(digits, "0")) > 38 {
		return false
	}
	n, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		return false
	}
	n.Abs(n)
	return n.Sign() == 0 || n.Cmp(leastNumber) >= 0 && n.Cmp(greatestNumber) <= 0
}
