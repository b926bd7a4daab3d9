package s3event_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
)

const testEvent = `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-21T10:00:00.000Z","Bucket":"photos","RequestId":"5582815E1AEA5ADF","HostId":"8cLeGAmw098X5cv4"}`

// record is a record as S3 writes it, with a key as it is in there.
func record(key string) string {
	return `{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-west-1","eventTime":"2026-11-21T10:00:00.123Z","eventName":"ObjectCreated:Put",` +
		`"userIdentity":{"principalId":"AWS:AIDA"},"requestParameters":{"sourceIPAddress":"192.0.2.7"},` +
		`"responseElements":{"x-amz-request-id":"C3D13FE58DE4C810","x-amz-id-2":"FMyUVURIY8"},` +
		`"s3":{"s3SchemaVersion":"1.0","configurationId":"imports","bucket":{"name":"photos","ownerIdentity":{"principalId":"A3NL1K"},"arn":"arn:aws:s3:::photos"},` +
		`"object":{"key":"` + key + `","size":1024,"eTag":"d41d8cd98f00b204e9800998ecf8427e","versionId":"v1","sequencer":"0055AED6DCD90281E5"}}}`
}

func notification(keys ...string) string {
	var list []string
	for _, key := range keys {
		list = append(list, record(key))
	}
	return `{"Records":[` + strings.Join(list, ",") + `]}`
}

func TestEach(t *testing.T) {
	var got []events.S3EventRecord
	var message batch.Record
	h := s3event.Each(func(ctx context.Context, r events.S3EventRecord) error {
		got = append(got, r)
		message, _ = batch.RecordFrom(ctx)
		return nil
	})
	both := notification("one.jpg", "two.jpg")
	for name, body := range map[string]string{
		"as S3 writes it":          both,
		"indented":                 strings.ReplaceAll(both, ",", " ,\n\t"),
		"with what comes later":    strings.Replace(both, `{"Records"`, `{"new":[1.5],"Records"`, 1),
		"with new fields":          strings.ReplaceAll(both, `"size"`, `"new":{"a":null},"size"`),
		"of a service like S3":     strings.ReplaceAll(both, "aws:s3\"", "minio:s3\""),
		"twice, the last counts":   strings.Replace(both, `{"Records"`, `{"Records":[{}],"Records"`, 1),
		"with an Event next to it": strings.Replace(both, `{"Records"`, `{"Event":"s3:TestEvent","Records"`, 1),
	} {
		got = nil
		m := batch.Record{MessageID: "m-1", Body: body}
		err := h.Handle(batch.WithRecord(t.Context(), m), m)
		if err != nil || len(got) != 2 || got[0].S3.Object.Key != "one.jpg" || got[1].S3.Object.Key != "two.jpg" || message.Body != body {
			t.Fatalf("%s: got %+v, %v", name, got, err)
		}
		r := got[0]
		if r.S3.Bucket.Name != "photos" || r.S3.Object.Size != 1024 || r.S3.Object.VersionID != "v1" || r.EventName != "ObjectCreated:Put" ||
			r.AWSRegion != "eu-west-1" || !r.EventTime.Equal(time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestKeysAreDecoded(t *testing.T) {
	for encoded, want := range map[string]string{
		"Happy+Face.jpg":           "Happy Face.jpg",
		"Happy%20Face.jpg":         "Happy Face.jpg",
		"1%2B1%3D2.txt":            "1+1=2.txt",
		"100%25/a%252Bb":           "100%/a%2Bb", // once, not twice
		"caf%C3%A9/%F0%9F%93%A6":   "café/📦",
		"in/2026/11/21/plain-1.gz": "in/2026/11/21/plain-1.gz",
		`quoted\"and\u0041`:        `quoted"andA`,
	} {
		var object events.S3Object
		h := s3event.Each(func(_ context.Context, r events.S3EventRecord) error { object = r.S3.Object; return nil })
		if err := h.Handle(t.Context(), batch.Record{Body: notification(encoded)}); err != nil || object.Key != want || object.URLDecodedKey != want {
			t.Errorf("%s: %q and %q, %v, want %q", encoded, object.Key, object.URLDecodedKey, err, want)
		}
	}
}

func TestTheTestOfS3IsDoneWith(t *testing.T) {
	h := s3event.Each(func(context.Context, events.S3EventRecord) error {
		t.Error("the function was called")
		return nil
	})
	for _, body := range []string{testEvent, strings.Replace(testEvent, "{", `{"Records":null,"new":1,`, 1), strings.Replace(testEvent, "{", `{"Records":[],`, 1)} {
		if err := h.Handle(t.Context(), batch.Record{Body: body}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheFirstFailureEnds(t *testing.T) {
	cause := errors.New("no such album")
	for _, c := range []struct {
		keys, called []string
		err          error
		want         string
	}{
		{[]string{"a", "b", "c"}, []string{"a", "b"}, batch.Permanent(cause), "record 2 of 3 of the S3 notification: no such album"},
		{[]string{"a", "b", "c"}, []string{"a", "b"}, batch.RetryAfter(time.Minute, cause), "record 2 of 3 of the S3 notification: no such album"},
		{[]string{"b"}, []string{"b"}, cause, "no such album"},
		{[]string{"a", "c"}, []string{"a", "c"}, cause, "<nil>"},
	} {
		var called []string
		h := s3event.Each(func(_ context.Context, r events.S3EventRecord) error {
			called = append(called, r.S3.Object.Key)
			if r.S3.Object.Key == "b" {
				return c.err
			}
			return nil
		})
		err := h.Handle(t.Context(), batch.Record{Body: notification(c.keys...)})
		if fmt.Sprint(err) != c.want || !slices.Equal(called, c.called) || err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v: called for %v, %v, want %v", c.keys, called, err, c.want)
		}
		if err != nil && batch.VerdictOf(err).Permanent != batch.VerdictOf(c.err).Permanent {
			t.Errorf("%v: the verb is lost in %v", c.keys, err)
		}
	}
}

// As a handler that looks at its context, but for records that have not begun.
func TestTheEndOfTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var called []string
	h := s3event.Each(func(_ context.Context, r events.S3EventRecord) error {
		called = append(called, r.S3.Object.Key)
		if r.S3.Object.Key == "b" {
			cancel()
		}
		return nil
	})
	err := h.Handle(ctx, batch.Record{Body: notification("a", "b", "c")})
	if !errors.Is(err, context.Canceled) || err.Error() != "after 2 of 3 records of the S3 notification: context canceled" || len(called) != 2 {
		t.Errorf("called for %v, %v", called, err)
	}
	// The first is the function's to decide, as without an envelope.
	called = nil
	if err := h.Handle(ctx, batch.Record{Body: notification("a")}); err != nil || len(called) != 1 {
		t.Errorf("called for %v, %v", called, err)
	}
	// All were handled: that the context has ended meanwhile changes nothing.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if err := h.Handle(ctx, batch.Record{Body: notification("a", "b")}); err != nil {
		t.Errorf("all are done, %v", err)
	}
}

func TestMalformedNotification_IsRefusedAndNotQuoted(t *testing.T) {
	const canary = "swordfish"
	good := notification("one.jpg")
	second := func(old, new string) string { // of two records the second is wrong
		return `{"Records":[` + record("one.jpg") + "," + strings.Replace(record("two.jpg"), old, new, 1) + `]}`
	}
	for name, c := range map[string]struct{ body, want string }{
		"nothing":               {``, "it is empty"},
		"no JSON":               {canary, "not valid JSON at offset 0"},
		"cut off":               {good[:200] + canary, "not valid JSON at offset"},
		"two":                   {good + good, "not valid JSON at offset " + strconv.Itoa(len(good))},
		"no records":            {`{"id":"` + canary + `"}`, "it has no Records: it is not a notification of S3"},
		"null records":          {`{"Records":null,"a":"` + canary + `"}`, "it has no Records"},
		"empty records":         {`{"Records":[]}`, "it has no Records"},
		"another event":         {`{"Service":"Amazon S3","Event":"` + canary + `"}`, "it has no Records"},
		"records are an object": {`{"Records":{"a":"` + canary + `"}}`, `field "Records": a JSON object does not go into`},
		"a record of nothing":   {`{"Records":[{}]}`, "Records[0]: its eventSource is not aws:s3"},
		"a null record":         {`{"Records":[null]}`, "Records[0]: the JSON value is null"},
		"a word":                {second(record("two.jpg"), `"`+canary+`"`), `field "Records[1]": a JSON string does not go into events.S3EventRecord`},
		"of SQS":                {second("aws:s3\"", "aws:sqs\""), "Records[1]: its eventSource is not aws:s3"},
		"no JSON, twice":        {strings.Replace(good, `{"Records"`, `{"Records":[`+canary+`],"Records"`, 1), "not valid JSON at offset 12"},
		"no bucket":             {second(`"name":"photos"`, `"other":"`+canary+`"`), "Records[1]: it names no bucket"},
		"no object":             {second(`"key":"two.jpg"`, `"other":"`+canary+`"`), "Records[1]: it names no object"},
		"a bad escape":          {second("two.jpg", canary+"%zz"), "Records[1]: the object's key is not URL-encoded"},
		"no time":               {second("2026-11-21T10:00:00.123Z", canary), `field "Records[1].eventTime": a JSON string does not go into time.Time, at offset `},
		"a record is no JSON":   {second(`"size":1024`, `"size":`), "not valid JSON at offset"},
		"deep":                  {`{"Records":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`, "JSON nested too deeply"},
		"deep, no end":          {`{"Records":[` + strings.Repeat(`{"s3":`, 100_000), "JSON nested too deeply"},
	} {
		called := false
		h := s3event.Each(func(context.Context, events.S3EventRecord) error { called = true; return nil })
		err := h.Handle(t.Context(), batch.Record{Body: c.body})
		var malformed *batch.MalformedError
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) || called || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: called %v, %v, want %q in it, and nothing of the body", name, called, err, c.want)
		}
	}
}

// An offset is the value's in the body, also where events.S3Object decodes itself.
func TestOffsets(t *testing.T) {
	h := s3event.Each(func(context.Context, events.S3EventRecord) error { return nil })
	for field, right := range map[string]string{"s3.object.size": `"size":1024`, "awsRegion": `"awsRegion":"eu-west-1"`} {
		name, _, _ := strings.Cut(right, ":")
		body := ` {"Records" : [ ` + record("one.jpg") + ` , ` + strings.Replace(record("two.jpg"), right, name+`:["x"]`, 1) + `]}`
		offset := fmt.Sprint("at offset ", strings.Index(body, `["x"]`))
		err := h.Handle(t.Context(), batch.Record{Body: body})
		if err == nil || !strings.Contains(err.Error(), `field "Records[1].`+field+`"`) || !strings.HasSuffix(err.Error(), offset) {
			t.Errorf("%v, want %s", err, offset)
		}
	}
}

// The longest list must not take hundreds of times its size.
func TestMemoryIsBounded(t *testing.T) {
	h := s3event.Each(func(context.Context, events.S3EventRecord) error { return nil })
	for name, body := range map[string]string{
		"of numbers": `{"Records":[` + strings.Repeat("0,", 1<<19-10) + `0]}`,
		"of objects": `{"Records":[` + strings.Repeat("{},", 1<<18) + `{}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := h.Handle(t.Context(), batch.Record{Body: body})
		runtime.ReadMemStats(&after)
		if err == nil || after.TotalAlloc-before.TotalAlloc > 100<<20 {
			t.Errorf("%s: %d bytes were allocated for %d, %v", name, after.TotalAlloc-before.TotalAlloc, len(body), err)
		}
		t.Logf("%s: %d KB", name, (after.TotalAlloc-before.TotalAlloc)>>10)
	}
}

func TestNoHandlerStaysNone(t *testing.T) {
	if s3event.Each(nil) != nil {
		t.Error("there is a handler of no function")
	}
}
