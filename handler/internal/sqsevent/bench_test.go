package sqsevent

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDecode decodes ten records with bodies of 500 bytes: plain, and
// JSON, whose quotes are escaped.
func BenchmarkDecode(b *testing.B) {
	for name, body := range map[string]string{
		"plain":   strings.Repeat("a plain body of words, and of nothing else. ", 500/44),
		"escaped": strings.Repeat(`{\"id\":\"o-1\",\"note\":\"\u00e4\n\"},`, 500/38),
	} {
		records := make([]string, 10)
		for i := range records {
			records[i] = fmt.Sprintf(`{"messageId": "m-%d", "receiptHandle": "AQEB%d", "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:q",
				"attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1762344000000"}, "body": "%s"}`, i, i, body)
		}
		payload := []byte(`{"Records": [` + strings.Join(records, ", ") + `]}`)
		b.Run("body="+name, func(b *testing.B) {
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				if list, err := Decode(payload); err != nil || len(list) != len(records) {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}
