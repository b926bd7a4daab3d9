package s3payload_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

var buckets = []string{"payloads"}

// handle gives a record to Unwrap's handler, with a fake that has the order, and
// returns what reached the function.
func handle(ctx context.Context, f *fakeS3, cfg s3payload.Config, r batch.Record) (got batch.Record, called bool, err error) {
	if cfg.Client == nil {
		cfg.Client = f.client()
	}
	err = s3payload.Unwrap(cfg)(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if of, _ := batch.RecordFrom(ctx); of.Body != r.Body {
			return errors.New("RecordFrom has another record")
		}
		got, called = r, true
		return nil
	})).Handle(batch.WithRecord(ctx, r), r)
	return got, called, err
}

func TestTheBodyIsReadFromS3(t *testing.T) {
	cfg := s3payload.Config{Buckets: buckets}
	legacySize := map[string]batch.MessageAttribute{"SQSLargePayloadSize": number(len(order))}
	for name, c := range map[string]struct {
		cfg s3payload.Config
		r   batch.Record
	}{
		"of this generation":               {cfg, record(newer, size(len(order)))},
		"of the first":                     {cfg, record(older, legacySize)},
		"as Java's legacy attribute has":   {cfg, record(newer, legacySize)},
		"as Python writes it":              {cfg, record(pythons, size(len(order)))},
		"without the attribute":            {cfg, record(newer, nil)},
		"with white space and more fields": {cfg, record(" [ \"com.amazon.sqs.javamessaging.MessageS3Pointer\"\n, {\"s3Key\":\"a\\/1\",\"s3BucketName\":\"payloads\",\"more\":1} ]\n", nil)},
		"another size, ignored":            {s3payload.Config{Buckets: []string{"*"}, IgnoreSize: true, MaxBytes: int64(len(order))}, record(newer, size(77))},
		"a limit that is none":             {s3payload.Config{Buckets: buckets, MaxBytes: math.MaxInt64}, record(newer, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			f, r := newS3(t, "a/1"), c.r
			r.MessageAttributes = maps.Clone(r.MessageAttributes)
			if r.MessageAttributes != nil {
				r.MessageAttributes["kind"] = text("order")
			}
			before := len(r.MessageAttributes)
			got, _, err := handle(t.Context(), f, c.cfg, r)
			if err != nil || got.Body != order || got.MessageID != "m-1" || got.MD5OfBody != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			if before > 0 && (len(got.MessageAttributes) != 1 || got.MessageAttributes["kind"].StringValue != "order") {
				t.Errorf("attributes: %v", got.MessageAttributes)
			}
			if len(r.MessageAttributes) != before {
				t.Error("the record's own attributes were changed")
			}
			if f.called() != "GET payloads/a/1" {
				t.Errorf("calls: %s", f.called())
			}
		})
	}
}

func TestABodyOfItsOwnIsHandedOn(t *testing.T) {
	for _, body := range []string{
		order, "", "[", "[]", `["`, `["software`, `["a","b"]`, " text", "null",
		`["software.amazon.payloadoffloading.PayloadS3Pointers",{}]`,
		`{"class":` + newer + `}`,
	} {
		f := newS3(t)
		r := record(body, map[string]batch.MessageAttribute{"kind": text("order")})
		got, called, err := handle(t.Context(), f, s3payload.Config{}, r) // not even a bucket is needed
		if err != nil || !called || got.Body != body || got.MD5OfBody == "" || len(got.MessageAttributes) != 1 || f.called() != "" {
			t.Errorf("%q: %+v, %v, calls: %s", body, got, err, f.called())
		}
	}
}

func TestPointersThatAreMalformed(t *testing.T) {
	pointer := func(rest string) string { return `["software.amazon.payloadoffloading.PayloadS3Pointer"` + rest }
	for name, c := range map[string]struct {
		r      batch.Record
		reason string
	}{
		"the attribute, and no pointer":        {record(order, size(5)), "the attribute with the payload's size is set, but the body"},
		"the attribute, and a pointer escaped": {record(strings.Replace(newer, "software", `\u0073oftware`, 1), size(5)), "the attribute with"},
		"cut":                                  {record(newer[:70], nil), "pointer to S3: not valid JSON at offset 70"},
		"something behind":                     {record(newer+"x", nil), "pointer to S3: not valid JSON at offset"},
		"no second part":                       {record(pointer("]"), nil), "pointer to S3: 1 parts, must be 2"},
		"three parts":                          {record(pointer(",{},{}]"), nil), "pointer to S3: 3 parts, must be 2"},
		"no object":                            {record(pointer(`,"a"]`), nil), "pointer to S3, in its second part: a JSON string does not go into"},
		"a key that is no text":                {record(pointer(`,{"s3BucketName":"payloads","s3Key":7}]`), nil), `pointer to S3, in its second part: field "s3Key"`},
		"null":                                 {record(pointer(",null]"), nil), "pointer to S3: s3BucketName is missing"},
		"no key":                               {record(pointer(`,{"s3BucketName":"payloads"}]`), nil), "pointer to S3: s3Key is missing"},
		"a long bucket":                        {record(pointer(`,{"s3BucketName":"`+strings.Repeat("b", 513)+`","s3Key":"k"}]`), nil), "pointer to S3: s3BucketName has 513 bytes"},
		"a long key":                           {record(pointer(`,{"s3BucketName":"payloads","s3Key":"`+strings.Repeat("k", 1025)+`"}]`), nil), "pointer to S3: s3Key has 1025 bytes"},
		"a key that leaves its bucket":         {record(pointer(`,{"s3BucketName":"payloads","s3Key":"a/../../others/1"}]`), nil), `pointer to S3: s3Key has a part ".."`},
		"a size that is not a number":          {record(newer, map[string]batch.MessageAttribute{"ExtendedPayloadSize": text("large")}), "the attribute with the payload's size is not a number"},
		"a size below nothing":                 {record(newer, size(-1)), "the attribute with the payload's size is not a number"},
	} {
		f := newS3(t)
		_, called, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, c.r)
		var malformed *batch.MalformedError
		if called || !errors.As(err, &malformed) || !strings.HasPrefix(malformed.Reason, c.reason) || f.called() != "" {
			t.Errorf("%s: called: %v, %v, want %q; calls: %s", name, called, err, c.reason, f.called())
		}
	}
}

func TestWhatFails(t *testing.T) {
	refused := func(status int, code string) func(*fakeS3) {
		return func(f *fakeS3) { f.refuseAll("", status, code) }
	}
	broken := func(f *fakeS3) {
		f.fault = func(*http.Request, string, string) (*http.Response, error) {
			return nil, errors.New("connection refused")
		}
	}
	cutOff := func(f *fakeS3) {
		f.fault = func(r *http.Request, _, _ string) (*http.Response, error) { return f.cutOff(r, order, 9), nil }
	}
	cfg := s3payload.Config{Buckets: buckets}
	for name, c := range map[string]struct {
		cfg     s3payload.Config
		r       batch.Record
		with    func(*fakeS3)
		text    string
		calls   int
		forGood bool
	}{
		"another bucket":         {s3payload.Config{Buckets: []string{"others", "payloads-2"}}, record(newer, nil), nil, "the pointer leads to a bucket that is not in Config.Buckets", 0, true},
		"another prefix":         {s3payload.Config{Buckets: buckets, Prefixes: []string{"other/", "payloads/x"}}, record(newer, nil), nil, "the pointer leads to a key that begins with none of Config.Prefixes", 0, true},
		"a missing object":       {cfg, record(strings.Replace(newer, "a/1", "a/2", 1), nil), nil, `no such object in S3, bucket "payloads"`, 1, true},
		"a missing bucket":       {s3payload.Config{Buckets: buckets, IgnoreMissing: true}, record(newer, nil), refused(404, "NoSuchBucket"), `no such bucket in S3, "payloads"`, 1, true},
		"larger than it is":      {cfg, record(newer, size(len(order)+1)), nil, `the object in bucket "payloads" has 33 bytes, but 34 by the message's attribute`, 1, true},
		"smaller":                {cfg, record(newer, size(1)), nil, "but 1 by the message's attribute (Config.IgnoreSize)", 1, true},
		"too large":              {s3payload.Config{Buckets: buckets, MaxBytes: 32}, record(newer, nil), nil, "has 33 bytes, more than Config.MaxBytes (32) allows", 1, true},
		"access denied":          {cfg, record(newer, nil), refused(403, "AccessDenied"), "AccessDenied", 1, false},
		"throttling":             {cfg, record(newer, nil), refused(503, "SlowDown"), "SlowDown", 3, false},
		"no connection":          {cfg, record(newer, nil), broken, "connection refused", 3, false},
		"a connection that ends": {cfg, record(newer, nil), cutOff, "unexpected EOF", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newS3(t, "a/1")
				if c.with != nil {
					c.with(f)
				}
				_, called, err := handle(t.Context(), f, c.cfg, c.r)
				if called || err == nil || batch.VerdictOf(err).Permanent != c.forGood || !strings.Contains(err.Error(), c.text) {
					t.Fatalf("called: %v, %v", called, err)
				}
				if !c.forGood && !strings.Contains(err.Error(), `bucket "payloads"`) || len(f.calls) != c.calls {
					t.Errorf("%v after %d calls, want %d: %s", err, len(f.calls), c.calls, f.called())
				}
			})
		})
	}
}

func TestTheObjectIsFetchedWithinTheRecordsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newS3(t)
		f.slow = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		_, called, err := handle(ctx, f, s3payload.Config{Buckets: buckets}, record(newer, nil))
		if called || !errors.Is(err, context.DeadlineExceeded) || batch.VerdictOf(err).Permanent || time.Since(begin) != 3*time.Second {
			t.Errorf("called: %v, after %v: %v", called, time.Since(begin), err)
		}
	})
}

func TestConfiguration(t *testing.T) {
	h := batch.Text(func(context.Context, string) error { return nil })
	for want, cfg := range map[string]s3payload.Config{
		"Config.Buckets is empty":                  {},
		`Config.Buckets is ["a" ""]`:               {Buckets: []string{"a", ""}},
		"DeleteAfterSuccess needs Config.Prefixes": {Buckets: []string{"a"}, DeleteAfterSuccess: true},
		"Config.MaxBytes is -1":                    {Buckets: buckets, MaxBytes: -1},
	} {
		for _, made := range []batch.Handler{s3payload.Unwrap(cfg)(h), s3payload.Stream(func(context.Context, s3payload.Object) error { return nil }, cfg)} {
			err := made.(interface{ Validate() error }).Validate()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Validate: %v, want %q", err, want)
			}
			// Who does not ask finds out by a pointer, which is kept.
			if got := made.Handle(t.Context(), record(newer, nil)); got == nil || got.Error() != err.Error() || batch.VerdictOf(got).Permanent {
				t.Errorf("Handle: %v", got)
			}
		}
	}
	outer := s3payload.Unwrap(s3payload.Config{Buckets: buckets})(s3payload.Unwrap(s3payload.Config{})(h))
	if err := outer.(interface{ Validate() error }).Validate(); err == nil {
		t.Error("what is wrong within is not told")
	}
	if s3payload.Unwrap(s3payload.Config{})(nil) != nil || s3payload.Unwrap(s3payload.Config{})(batch.Text(nil)) != nil || s3payload.Stream(nil, s3payload.Config{}) != nil {
		t.Error("a handler without a function")
	}
}

// FuzzPointer gives any body: it is handed on as it is, or followed into a bucket
// that may be read, or refused for good.
func FuzzPointer(f *testing.F) {
	for _, body := range []string{newer, older, pythons, order, newer[:60]} {
		f.Add(body, "33")
		f.Add(body, "")
	}
	f.Fuzz(func(t *testing.T, body, claim string) {
		fake := newS3(t)
		fake.fault = func(r *http.Request, bucket, key string) (*http.Response, error) {
			if bucket != "payloads" || key == "" || strings.Contains("/"+key+"/", "/../") {
				t.Errorf("%s %q %q", r.Method, bucket, key)
			}
			return fake.answer(r, 200, "from S3"), nil
		}
		r := record(body, nil)
		if claim != "" {
			r.MessageAttributes = map[string]batch.MessageAttribute{"ExtendedPayloadSize": text(claim)}
		}
		got, called, err := handle(context.Background(), fake, s3payload.Config{Buckets: buckets}, r)
		switch {
		case err != nil && (called || !batch.VerdictOf(err).Permanent):
			t.Errorf("called: %v, %v", called, err)
		case err == nil && got.Body != "from S3" && (got.Body != body || fake.called() != ""):
			t.Errorf("%q became %q; calls: %s", body, got.Body, fake.called())
		case err == nil && got.Body == "from S3" && fake.called() == "" && body != "from S3":
			t.Error("no call was made")
		}
	})
}

// The client that is made finds an endpoint as it is named, and writes nothing of
// objects that have no checksum.
func TestClientFromTheEnvironment(t *testing.T) {
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		_, _ = io.WriteString(w, "body")
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_CONFIG_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	read, write, err := os.Pipe()
	ok(t, err)
	before := os.Stderr
	os.Stderr = write
	var body string
	err = s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders"}})(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		body = r.Body
		return nil
	})).Handle(t.Context(), batch.Record{Body: `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"orders","s3Key":"key"}]`})
	os.Stderr = before
	_ = write.Close()
	lines, _ := io.ReadAll(read)
	if err != nil || body != "body" || len(lines) != 0 {
		t.Errorf("%v, body %q, on standard error %q", err, body, lines)
	}
	if path := <-paths; path != "/orders/key" {
		t.Errorf("asked for %s", path)
	}
}

func TestTheObjectIsDeletedAfterASuccess(t *testing.T) {
	no := errors.New("no")
	late := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, c := range map[string]struct {
		fn      func(context.Context) error
		delete  bool
		deleted bool
	}{
		"a success":                {func(context.Context) error { return nil }, true, true},
		"a success, not asked for": {func(context.Context) error { return nil }, false, false},
		"a failure":                {func(context.Context) error { return no }, true, false},
		"a failure for good":       {func(context.Context) error { return batch.Permanent(no) }, true, false},
		"a success after its time": {late, true, false}, // the message may come again
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newS3(t, "a/1")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				w := &warned{}
				cfg := s3payload.Config{Buckets: buckets, Client: f.client(), Prefixes: []string{""}, DeleteAfterSuccess: c.delete, Warned: w.Warned}
				for _, h := range []batch.Handler{
					s3payload.Unwrap(cfg)(batch.Text(func(ctx context.Context, _ string) error { return c.fn(ctx) })),
					s3payload.Stream(func(ctx context.Context, _ s3payload.Object) error { return c.fn(ctx) }, cfg),
				} {
					f.objects["payloads/a/1"] = order
					_ = h.Handle(ctx, record(newer, size(len(order))))
					if _, there := f.objects["payloads/a/1"]; there == c.deleted {
						t.Errorf("deleted: %v; calls: %s", !there, f.called())
					}
					if len(w.list) != 0 {
						t.Errorf("warnings: %v", w.list)
					}
				}
			})
		})
	}
}

func TestADeleteThatFailsFailsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newS3(t, "a/1"), &warned{}
		f.refuseAll(http.MethodDelete, 403, "AccessDenied")
		cfg := s3payload.Config{Buckets: buckets, Client: f.client(), Prefixes: []string{""}, DeleteAfterSuccess: true, Warned: w.Warned}
		h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error { return nil }))
		handle := func(times int) {
			for range times {
				ok(t, h.Handle(t.Context(), record(newer, nil)))
			}
		}
		handle(5)
		time.Sleep(time.Minute)
		handle(1)
		if len(w.list) != 2 {
			t.Fatalf("%d warnings, want one a minute", len(w.list))
		}
		first, second := w.list[0], w.list[1]
		if first.MessageID != "m-1" || !strings.Contains(first.Message, "could not be deleted from S3: the role needs s3:DeleteObject") || !strings.Contains(first.Err.Error(), "AccessDenied") {
			t.Errorf("%+v", first)
		}
		if !strings.HasSuffix(second.Message, "; 4 more of these since the last line") {
			t.Errorf("%+v", second)
		}
	})
}

func TestADelete_DoesNotHoldUpOthersForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newS3(t, "a/1")
		cfg := s3payload.Config{Buckets: buckets, Client: f.client(), Prefixes: []string{""}, DeleteAfterSuccess: true, Warned: panics{}.Warned}
		h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error {
			f.slow = time.Hour
			return nil
		}))
		begin := time.Now()
		if err := h.Handle(t.Context(), record(newer, nil)); err != nil || time.Since(begin) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

type panics struct{}

func (panics) Warned(context.Context, batch.Warning) { panic("a hook of the user's") }

func TestAMissingObjectMayBeIgnored(t *testing.T) {
	f, w := newS3(t), &warned{}
	cfg := s3payload.Config{Buckets: buckets, IgnoreMissing: true, Warned: w.Warned}
	_, called, err := handle(t.Context(), f, cfg, record(newer, nil))
	if called || err != nil || len(w.list) != 1 || w.list[0].MessageID != "m-1" || !strings.Contains(w.list[0].Message, "was taken as handled before") {
		t.Errorf("called: %v, %v, %v", called, err, w.list)
	}
	// Denied is not missing, and all objects of a bucket that does not exist were not handled.
	for code, status := range map[string]int{"AccessDenied": 403, "NoSuchBucket": 404} {
		f.refuseAll("", status, code)
		if _, _, err = handle(t.Context(), f, cfg, record(newer, nil)); err == nil {
			t.Errorf("an object of which S3 says %s was taken for handled", code)
		}
	}
	// An error of the function's own that looks like it is the function's.
	f.fault = nil
	f.objects["payloads/a/1"] = order
	cfg.Client = f.client()
	h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error {
		_, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, record(strings.Replace(newer, "a/1", "a/2", 1), nil))
		return err
	}))
	if err := h.Handle(t.Context(), record(newer, nil)); err == nil {
		t.Error("the function's error was taken for a missing object of the record")
	}
}
