package s3event_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
)

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
		t.Run(name, func(t *testing.T) {
			called := false
			h := s3event.Each(func(context.Context, events.S3EventRecord) error { called = true; return nil })
			err := h.Handle(t.Context(), batch.Record{Body: c.body})
			var malformed *batch.MalformedError
			if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) || called {
				t.Errorf("called %v, %v, want %q in it", called, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("the body is in %v", err)
			}
		})
	}
}

// An offset is the value's in the body, also where events.S3Object decodes itself.
func TestOffsets(t *testing.T) {
	h := s3event.Each(func(context.Context, events.S3EventRecord) error { return nil })
	for wrong, field := range map[string]string{`"size":"x"`: "s3.object.size", `"awsRegion":"x"`: "awsRegion"} {
		name, _, _ := strings.Cut(wrong, ":")
		bad := record("two.jpg")
		at := strings.Index(bad, name)
		end := at + strings.IndexAny(bad[at:], ",}")
		bad = bad[:at] + name + `:["x"]` + bad[end:]
		body := ` {"Records" : [ ` + record("one.jpg") + ` , ` + bad + `]}`
		err := h.Handle(t.Context(), batch.Record{Body: body})
		offset, found := 0, false
		if err != nil {
			_, text, _ := strings.Cut(err.Error(), "at offset ")
			n, bad := strconv.Atoi(text)
			offset, found = n, bad == nil
		}
		if !found || !strings.Contains(err.Error(), `field "Records[1].`+field+`"`) || !strings.HasSuffix(body[:offset], name+":") {
			t.Errorf("%s: %v: up to %q", wrong, err, body[max(0, offset-30):offset])
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
