package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const maxMessageAttributes = 10

// attributeValue is a message attribute in requests and answers.
type attributeValue struct {
	DataType         string
	StringValue      *string  `json:",omitempty"`
	BinaryValue      []byte   `json:",omitempty"`
	StringListValues []string `json:",omitempty"`
	BinaryListValues [][]byte `json:",omitempty"`
}

var (
	// The developer guide allows A-Z, a-z and 0-9. AWS was observed to accept letters of
	// other scripts (attributes-of-messages/name-letters of the conformance checks).
	attributeName = regexp.MustCompile(`^[\p{L}\p{Nd}_.-]{1,256}$`)
	numberValue   = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)
)

// checkAttributes applies the rules of the developer guide, "Amazon SQS message attributes",
// and returns the number of bytes that count towards the message's size.
func checkAttributes(attributes map[string]attributeValue) (size int, err *apiError) {
	if len(attributes) == 0 {
		return 0, nil
	}
	if len(attributes) > maxMessageAttributes {
		return 0, errInvalidParameter("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(attributes), maxMessageAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		lower := strings.ToLower(name)
		switch {
		case !attributeName.MatchString(name), strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
			return 0, errInvalidParameter("Message attribute name %q is invalid: up to 256 letters, digits, underscores, hyphens and periods, no period first, last or twice in a row.", name)
		case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
			return 0, errInvalidParameter("Message attribute name %q is invalid: it begins with a reserved prefix (AWS. or Amazon.).", name)
		}
		if err := attributes[name].check(name); err != nil {
			return 0, err
		}
		size += len(name) + attributes[name].size()
	}
	return size, nil
}

func (v attributeValue) check(name string) *apiError {
	invalid := func(reason string) *apiError {
		return errInvalidParameter("The message attribute '%s' is invalid: %s", name, reason)
	}
	kind, _, _ := strings.Cut(v.DataType, ".")
	switch {
	case len(v.StringListValues) > 0 || len(v.BinaryListValues) > 0:
		return modelled("UnsupportedOperation", "Message attribute list values in SendMessage operation are not supported.")
	case v.DataType == "":
		return invalid("it must contain a non-empty message attribute type.")
	case kind != "String" && kind != "Number" && kind != "Binary" || len(v.DataType) > 256:
		return invalid("its type " + v.DataType + " must be String, Number or Binary, with an optional .label, at most 256 characters.")
	case kind == "Binary":
		if len(v.BinaryValue) == 0 || v.StringValue != nil {
			return errInvalidParameter("Message (user) attribute '%s' must contain a non-empty value of type 'Binary'.", name)
		}
	case v.StringValue == nil || *v.StringValue == "" || v.BinaryValue != nil:
		return errInvalidParameter("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, kind)
	case !validText(*v.StringValue):
		return invalid("its value has characters outside the allowed set.")
	case kind == "Number" && !validNumber(*v.StringValue):
		return invalid("its value " + *v.StringValue + " is not a number of up to 38 digits between 10^-128 and 10^126.")
	}
	return nil
}

// Limits of a number's absolute value.
var (
	leastNumber, _, _    = big.ParseFloat("1e-128", 10, 512, big.ToNearestEven)
	greatestNumber, _, _ = big.ParseFloat("1e126", 10, 512, big.ToNearestEven)
)

// validNumber applies the developer guide's rule in "Amazon SQS message attributes": up to 38
// digits, between 10^-128 and 10^+126, positive or negative.
func validNumber(text string) bool {
	if len(text) > 256 || !numberValue.MatchString(text) {
		return false
	}
	digits, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(text, "+-")), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(strings.Trim(whole+fraction, "0")) > 38 {
		return false
	}
	n, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		return false
	}
	n.Abs(n)
	return n.Sign() == 0 || n.Cmp(leastNumber) >= 0 && n.Cmp(greatestNumber) <= 0
}

func (v attributeValue) size() int {
	return len(v.DataType) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
}

// attributesMD5 returns the digest of the developer guide's "Calculating the MD5 message
// digest for message attributes"; "" if there are none.
func attributesMD5(attributes map[string]attributeValue) string {
	if len(attributes) == 0 {
		return ""
	}
	const stringTransport, binaryTransport = 1, 2
	var text []byte
	add := func(part string) {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[name]
		add(name)
		add(v.DataType)
		if v.StringValue != nil {
			text = append(text, stringTransport)
			add(*v.StringValue)
		} else {
			text = append(text, binaryTransport)
			add(string(v.BinaryValue))
		}
	}
	return md5Hex(text)
}

func md5Hex(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// chooseAttributes returns the attributes that a receive requests: by name, by
// "prefix.*", or all with "All", ".*" or "*".
func chooseAttributes(attributes map[string]attributeValue, wanted []string) map[string]attributeValue {
	if len(attributes) == 0 || len(wanted) == 0 {
		return nil
	}
	if slices.Contains(wanted, "All") || slices.Contains(wanted, ".*") || slices.Contains(wanted, "*") {
		return attributes
	}
	chosen := map[string]attributeValue{}
	for name, value := range attributes {
		for _, want := range wanted {
			prefix, any := strings.CutSuffix(want, ".*")
			if name == want || any && strings.HasPrefix(name, prefix) {
				chosen[name] = value
			}
		}
	}
	return chosen
}

// validText reports whether a text has only characters that are allowed by the API reference,
// SendMessage.
func validText(text string) bool {
	plain := 0 // number of leading ASCII characters that are allowed
	for plain < len(text) && (text[plain] >= 0x20 && text[plain] < utf8.RuneSelf || text[plain] == '\n') {
		plain++
	}
	for _, r := range text[plain:] {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000:
		default:
			return false
		}
	}
	return true
}
