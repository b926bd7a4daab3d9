package live

import (
	"strings"
	"testing"
)

func TestParseFunction(t *testing.T) {
	for text, want := range map[string]functionName{
		"orders":      {"", "orders", ""},
		"orders:live": {"", "orders", "live"},
		"arn:aws:lambda:eu-west-1:123456789012:function:orders":             {"eu-west-1", "orders", ""},
		"arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:o:7":     {"us-gov-west-1", "o", "7"},
		"arn:aws:lambda:eu-west-1:123456789012:function:orders:$LATEST":     {"eu-west-1", "orders", "$LATEST"},
		"123456789012:function:orders":                                      {"", "orders", ""},
		"arn:aws:lambda:eu-west-1:123456789012:function:orders/../../other": {},
		"": {}, "a/b": {}, "a b": {}, "arn:aws:sqs:eu-west-1:123456789012:orders": {}, "a?b": {}, "a\n": {},
	} {
		got, err := parseFunction(text)
		if got != want || (err == nil) != (want != functionName{}) {
			t.Errorf("%q: %+v %v, want %+v", text, got, err, want)
		}
	}
}

// Of queues that are each other's dead-letter queue one stays, and a chain keeps what is checked with
// nothing else.
func TestDistinct(t *testing.T) {
	for want, list := range map[string][]*Queue{
		"b":     {{ARN: "a", dead: "b", prefix: true}, {ARN: "b", dead: "a", prefix: true}},
		"a c":   {{ARN: "a", dead: "b", prefix: true}, {ARN: "b", dead: "c", prefix: true}, {ARN: "c", prefix: true}},
		"a b":   {{ARN: "a", dead: "b", prefix: true}, {ARN: "b", prefix: true}, {ARN: "b"}},
		"a b c": {{ARN: "a"}, {ARN: "b", prefix: true}, {ARN: "a"}, {ARN: "c", dead: "c", prefix: true}},
	} {
		var names []string
		for _, q := range distinct(list) {
			names = append(names, q.ARN)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
