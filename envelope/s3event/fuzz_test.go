package s3event

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// FuzzOpen compares the records with a decoded events.S3Event.
func FuzzOpen(f *testing.F) {
	for _, body := range []string{
		`{"Records":[{"eventSource":"aws:s3","eventTime":"2026-11-21T10:00:00.123Z","s3":{"bucket":{"name":"b"},"object":{"key":"a+b%2B","size":1}}}, {"eventSource":"x:s3","s3":{"bucket":{"name":"b"},"object":{"key":"c"}}}]}`,
		`{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-21T10:00:00.000Z","Bucket":"b","RequestId":"r","HostId":"h"}`,
		`{"records":[null],"Records":[{}],"Records":[{"s3":{"object":{"key":"%zz"}}}]}`,
		`{"Records":[{"s3":{"object":{"size":"]}\""}}}],"Event":null}`,
		`{"id":"o-1"}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		records, reason, err := open(body)
		if reason == "" && err != nil || reason != "" && records != nil {
			t.Fatalf("%d records, %q, %v", len(records), reason, err)
		}
		if len(records) == 0 {
			return
		}
		var whole events.S3Event
		if err := json.Unmarshal([]byte(body), &whole); err != nil {
			t.Fatalf("accepted what encoding/json does not take: %v", err)
		}
		// encoding/json merges the lists of a name that comes twice.
		if strings.Count(strings.ToLower(body), "records") > 1 || strings.Contains(body, `\u`) {
			return
		}
		if len(whole.Records) != len(records) {
			t.Fatalf("%d records, want %d", len(records), len(whole.Records))
		}
		for i, want := range whole.Records {
			key, err := url.QueryUnescape(want.S3.Object.Key)
			want.S3.Object.Key = key
			if err != nil || key == "" || want.S3.Bucket.Name == "" || !reflect.DeepEqual(records[i], want) {
				t.Fatalf("record %d: %+v, want %+v, %v", i, records[i], want, err)
			}
		}
	})
}
