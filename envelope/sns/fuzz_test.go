package sns

import (
	"strings"
	"testing"
)

// FuzzOpen holds what is opened to what an envelope is.
func FuzzOpen(f *testing.F) {
	const topic = `"TopicArn":"arn:aws:sns:eu-west-1:1:t"`
	for _, body := range []string{
		`{"id":"o-1"}`,
		`{"Type":"Notification","MessageId":"n","SequenceNumber":"1",` + topic + `,"Subject":"s","Message":"\u00e9\n","Timestamp":"2026-11-21T05:12:16.901Z",` +
			`"SignatureVersion":"1","Signature":"x","SigningCertURL":"x","UnsubscribeURL":"x","MessageAttributes":{"a":{"Type":"String","Value":"v"},"b":{"Value":"AAH/","Type":"Binary"}}}`,
		`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"{\"Type\":\"Notification\""}`,
		`{"Type":"SubscriptionConfirmation","MessageId":"n","Token":"t",` + topic + `,"Message":"m","SubscribeURL":"u"}`,
		`{"type":"Notification","MessageId":null,` + topic + `,"Message":{},"MessageAttributes":{"a":{"Type":7}},"x":[[[`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, reason, err := open(body)
		switch {
		case e != nil && (reason != "" || err != nil), reason == "" && err != nil:
			t.Fatalf("opened %v, and %q, %v", e != nil, reason, err)
		case e != nil && (e.MessageID == "" || !strings.HasPrefix(e.TopicARN, "arn:")):
			t.Fatalf("opened without %+v", e.Notification)
		case e == nil && reason == "" && begins(body) && !strings.Contains(strings.TrimSpace(body), "}"):
			t.Fatal("an envelope that is cut off was taken for a message")
		}
	})
}
