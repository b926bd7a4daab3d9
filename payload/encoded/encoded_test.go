package encoded_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

func gzipped(s string) string     { return compressed(s, gzip.NewWriter(nil)) }
func zlibbed(s string) string     { return compressed(s, zlib.NewWriter(nil)) }
func based(s string) string       { return base64.StdEncoding.EncodeToString([]byte(s)) }
func basedForURL(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func compressed(s string, w interface {
	io.WriteCloser
	Reset(io.Writer)
}) string {
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func record(body, coding string) batch.Record {
	return batch.Record{MessageID: "m", Body: body, MD5OfBody: "x", MD5OfMessageAttributes: "y", MessageAttributes: map[string]batch.MessageAttribute{
		"Content-Encoding": {DataType: "String", StringValue: coding},
	}}
}

// handle gives h's function the record, and returns what reached it.
func handle(t testing.TB, c encoded.Config, r batch.Record) (got batch.Record, called bool, err error) {
	t.Helper()
	h := c.Unwrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		got, called = r, true
		if of, _ := batch.RecordFrom(ctx); of.Body != r.Body {
			t.Errorf("RecordFrom has the body %q, the function %q", of.Body, r.Body)
		}
		return nil
	}))
	err = h.Handle(batch.WithRecord(t.Context(), r), r)
	return got, called, err
}

const order = `{"sku":"hat-1","text":"zwölf Hüte, bitte; zwölf Hüte, bitte; zwölf Hüte, bitte"}`

func TestDecodes(t *testing.T) {
	for name, c := range map[string]struct{ coding, body string }{
		"gzip":                      {"gzip", based(gzipped(order))},
		"gzip, said to be base64":   {"gzip, base64", based(gzipped(order))},
		"gzip for URLs, no padding": {"gzip", basedForURL(gzipped(order))},
		"names of any case":         {" GZip ,BASE64", based(gzipped(order))},
		"an old name":               {"x-gzip", based(gzipped(order))},
		"deflate":                   {"deflate", based(zlibbed(order))},
		"base64":                    {"base64", based(order)},
		"base64 twice":              {"base64,base64", based(based(order))},
		"compressed twice":          {"deflate, gzip", based(gzipped(zlibbed(order)))},
		"base64 between":            {"gzip, base64, deflate", based(zlibbed(based(gzipped(order))))},
		"base64 within":             {"base64, gzip", based(gzipped(based(order)))},
		"several members":           {"gzip", based(gzipped(order[:20]) + gzipped("") + gzipped(order[20:]))},
		"nothing":                   {"", order},
		"nothing, by name":          {"identity", order},
	} {
		for range 2 { // the second time with what was used before
			got, _, err := handle(t, encoded.Config{}, record(c.body, c.coding))
			if err != nil || got.Body != order || got.MD5OfBody != "" || got.MD5OfMessageAttributes != "" {
				t.Errorf("%s: %q: %v", name, got.Body, err)
			}
		}
	}
	for coding, body := range map[string]string{"gzip": gzipped(""), "deflate": zlibbed("")} {
		if got, called, err := handle(t, encoded.Config{}, record(based(body), coding)); err != nil || !called || got.Body != "" {
			t.Errorf("%s of an empty text: %q, %v", coding, got.Body, err)
		}
	}
}

func TestWithoutTheAttributeTheRecordIsHandedOn(t *testing.T) {
	r := record(based(gzipped(order)), "gzip")
	got, _, err := handle(t, encoded.Config{Attribute: "encoding"}, r)
	if err != nil || got.Body != r.Body || len(got.MessageAttributes) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	r.MessageAttributes["encoding"] = r.MessageAttributes["Content-Encoding"]
	if got, _, err = handle(t, encoded.Config{Attribute: "encoding"}, r); err != nil || got.Body != order {
		t.Errorf("%q, %v", got.Body, err)
	}
	if _, there := got.MessageAttributes["Content-Encoding"]; !there || len(got.MessageAttributes) != 1 {
		t.Errorf("the function has the attributes %v", got.MessageAttributes)
	}
	if len(r.MessageAttributes) != 2 {
		t.Error("the record's own attributes were changed")
	}
}

func TestWhatIsMalformed(t *testing.T) {
	gz, zl := gzipped(order), zlibbed(order)
	flip := func(s string, at int) string { return s[:at] + string(s[at]^0x55) + s[at+1:] }
	for name, c := range map[string]struct{ coding, body, reason string }{
		"an unknown coding":       {"br", based(order), `attribute Content-Encoding: coding "br" is unknown`},
		"one of them":             {"gzip, zstd", based(order), `attribute Content-Encoding: coding "zstd" is unknown`},
		"too many":                {"gzip,gzip,gzip,gzip,gzip", based(order), `attribute Content-Encoding: more than 4 codings`},
		"no base64":               {"gzip", order, "not valid base64 at offset 0"},
		"base64 that goes on":     {"base64", based("cut") + "YQ==A", "not valid base64 at offset 6"},
		"no gzip":                 {"gzip", based(order), "the data has no valid gzip header"},
		"no zlib":                 {"deflate", based(gz), "the data has no valid deflate header"},
		"nothing":                 {"gzip", "", "the gzip data ends too early"},
		"gzip that is cut":        {"gzip", based(gz[:len(gz)-9]), "the gzip data ends too early"},
		"without a trailer":       {"gzip", based(gz[:len(gz)-8]), "the gzip data ends too early"},
		"a header only":           {"gzip", based(gz[:5]), "the gzip data ends too early"},
		"deflate that is cut":     {"deflate", based(zl[:len(zl)-1]), "the deflate data ends too early"},
		"a wrong checksum":        {"gzip", based(flip(gz, len(gz)-8)), "the gzip data's checksum is wrong"},
		"of zlib":                 {"deflate", based(flip(zl, len(zl)-1)), "the deflate data's checksum is wrong"},
		"damaged":                 {"deflate", based(flip(zl, 2)), "the deflate data is damaged at offset"},
		"data behind":             {"gzip", based(gz + "and more than a header"), "there is other data after the gzip data"},
		"zeros behind":            {"gzip", based(gz + strings.Repeat("\x00", 20)), "there is other data after the gzip data"},
		"half a member behind":    {"gzip", based(gz + gz[:12]), "the gzip data ends too early"},
		"data behind, of zlib":    {"deflate", based(zl + zl), "there is other data after the deflate data"},
		"too large":               {"gzip", based(gzipped(strings.Repeat("a", 1001))), "the decoded body is larger than 1000 bytes (MaxBytes)"},
		"too large, of zlib":      {"deflate", based(zlibbed(strings.Repeat("a", 1001))), "the decoded body is larger than 1000 bytes"},
		"too large, of members":   {"gzip", based(strings.Repeat(gzipped(strings.Repeat("a", 300)), 4)), "the decoded body is larger than 1000 bytes"},
		"too large, of base64":    {"base64", based(strings.Repeat("a", 1001)), "the decoded body is larger than 1000 bytes"},
		"too large on its way":    {"gzip,gzip", based(gzipped(strings.Repeat(gzipped(""), 60))), "the decoded body is larger than 1000 bytes"},
		"a size that is a lie":    {"gzip", based(gz[:len(gz)-4] + "\x00\x00\x00\x70"), "the gzip data's checksum is wrong"},
		"a size that is too much": {"gzip", based(gz[:len(gz)-4] + "\x00\x08\x00\x00"), "the decoded body is larger than 1000 bytes"},
	} {
		_, called, err := handle(t, encoded.Config{MaxBytes: 1000}, record(c.body, c.coding))
		requireMalformed(t, name, called, err, c.reason)
	}
	r := record(based(gz), "")
	r.MessageAttributes["Content-Encoding"] = batch.MessageAttribute{DataType: "Binary", BinaryValue: []byte("gzip")}
	_, called, err := handle(t, encoded.Config{}, r)
	requireMalformed(t, "a binary attribute", called, err, `attribute Content-Encoding is Binary, not String`)
	if got, _, err := handle(t, encoded.Config{MaxBytes: 1000}, record(based(gzipped(strings.Repeat("a", 1000))), "gzip")); err != nil || len(got.Body) != 1000 {
		t.Errorf("as large as may be: %d bytes, %v", len(got.Body), err)
	}
}

func requireMalformed(t *testing.T, name string, called bool, err error, reason string) {
	t.Helper()
	var malformed *batch.MalformedError
	if called || !errors.As(err, &malformed) || !strings.HasPrefix(malformed.Reason, reason) {
		t.Errorf("%s: called: %v, %v, want %q", name, called, err, reason)
	}
}

// Senders that always compress have no attribute that says so.
func TestDefault(t *testing.T) {
	plain := func(body string) batch.Record {
		return batch.Record{Body: body, MD5OfBody: "x", MessageAttributes: map[string]batch.MessageAttribute{"tenant": {StringValue: "a"}}}
	}
	for name, c := range map[string]struct {
		record batch.Record
		want   string
	}{
		"compressed, and not said":     {plain(based(gzipped(order))), ""},
		"compressed, and said":         {record(based(zlibbed(order)), "deflate"), ""},
		"said to be nothing":           {record(order, "identity"), ""},
		"not compressed, and not said": {plain(order), "no attribute Content-Encoding, so gzip by Config.Default: not valid base64 at offset 0"},
		"damaged, and said":            {record(order, "gzip"), "not valid base64 at offset 0"},
	} {
		got, called, err := handle(t, encoded.Config{Default: "gzip"}, c.record)
		if c.want != "" {
			if called || fmt.Sprint(err) != "malformed body: "+c.want {
				t.Errorf("%s: called: %v, %v, want %q", name, called, err, c.want)
			}
		} else if err != nil || got.Body != order || got.MD5OfBody != "" || got.MessageAttributes["tenant"].StringValue != c.record.MessageAttributes["tenant"].StringValue {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestConfiguration(t *testing.T) {
	if (encoded.Config{}).Unwrap(nil) != nil || encoded.Unwrap(batch.Text(nil)) != nil {
		t.Error("nil does not stay nil")
	}
	for want, cfg := range map[string]encoded.Config{
		"MaxBytes is -1, must be 1 or more":        {MaxBytes: -1},
		`Default is "brotli": a coding is unknown`: {Default: "brotli"},
	} {
		h := cfg.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }))
		for _, h := range []batch.Handler{h, encoded.Unwrap(h)} {
			if err := h.(interface{ Validate() error }).Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Validate: %v, want %q", err, want)
			}
		}
		// Without Validate, the first record that needs it shows the error, and is kept.
		if got := h.Handle(t.Context(), record(based(order), "base64")); got == nil || batch.VerdictOf(got).Permanent {
			t.Errorf("Handle: %v", got)
		}
		if got := h.Handle(t.Context(), batch.Record{}); (got == nil) != (cfg.Default == "") || batch.VerdictOf(got).Permanent {
			t.Errorf("Handle of a body without the attribute: %v", got)
		}
	}
}

// zeros are 160 MiB or more in about 1 MB, as much as an SQS message can have. lie
// is what the data says of its size, if it is not the truth.
func zeros(t *testing.T, lie []byte) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	block := make([]byte, 1<<20)
	for range 24 {
		_, _ = w.Write(block)
	}
	_ = w.Close()
	data := b.Bytes()
	if lie != nil {
		copy(data[len(data)-4:], lie)
	}
	// Members of 24 MiB each until the message is full.
	text := base64.StdEncoding.EncodeToString(bytes.Repeat(data, 1+700_000/len(data)))
	if len(text) > 1<<20+1<<19 {
		t.Fatalf("the bomb has %d bytes", len(text))
	}
	return text
}

func TestABombTakesNoMoreMemoryThanTheBound(t *testing.T) {
	const bound = 4 << 20
	discard := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	for name, lie := range map[string][]byte{"that tells its size": nil, "that says it is small": {1, 0, 0, 0}, "that says it fits": {0, 0, 0x3f, 0}} {
		t.Run(name, func(t *testing.T) {
			r := record(zeros(t, lie), "gzip")
			h := encoded.Config{MaxBytes: bound}.Unwrap(discard)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := h.Handle(t.Context(), r)
			runtime.ReadMemStats(&after)
			if !batch.VerdictOf(err).Permanent || !strings.Contains(err.Error(), "larger than 4194304 bytes") {
				t.Fatal(err)
			}
			// All that was allocated, in sum: also what a growing result leaves
			// behind, and the message's own bytes.
			if got := after.TotalAlloc - before.TotalAlloc; got > 3*bound {
				t.Errorf("%d bytes were allocated for a bound of %d", got, bound)
			} else {
				t.Logf("%d bytes in all", got)
			}
		})
	}
}

// Without a setting, a compressed message may be as large as one that is not compressed.
func TestTheDefaultBoundIsThatOfAMessage(t *testing.T) {
	for size, refused := range map[int]bool{1 << 20: false, 1<<20 + 1: true} {
		got, _, err := handle(t, encoded.Config{}, record(based(gzipped(strings.Repeat("a", size))), "gzip"))
		if refused && !batch.VerdictOf(err).Malformed || !refused && (err != nil || len(got.Body) != size) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// A body waits for its turn to be decoded, at most until its record's time is over. Functions
// run at the same time, however many there are.
func TestFunctionsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := encoded.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error {
			time.Sleep(time.Second)
			return nil
		}))
		began := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := h.Handle(t.Context(), record(based(gzipped(order)), "gzip")); err != nil {
					t.Error(err)
				}
			})
		}
		if all.Wait(); time.Since(began) != time.Second {
			t.Errorf("100 functions of a second took %v", time.Since(began))
		}
	})
}

// FuzzDecode gives any text and codings: no panic, no more than the bound, and
// no error that quotes the body.
func FuzzDecode(f *testing.F) {
	const max = 1 << 16
	f.Add("gzip", based(gzipped(order)))
	f.Add("deflate, gzip", based(gzipped(zlibbed(order))))
	f.Add("base64", basedForURL(order))
	f.Add("gzip", based(gzipped(strings.Repeat("a", 2*max))))
	h := encoded.Config{MaxBytes: max}.Unwrap(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		if len(r.Body) > max {
			panic("larger than the bound")
		}
		return nil
	}))
	f.Fuzz(func(t *testing.T, coding, body string) {
		const canary = "4canary4"
		for _, body := range []string{body, canary + body, body + canary, based(body + canary), based(gzipped(canary + body))} {
			err := h.Handle(context.Background(), record(body, coding))
			var malformed *batch.MalformedError
			if len(body) <= max && err != nil && !errors.As(err, &malformed) {
				t.Fatalf("%v is no malformed body", err)
			}
			if err != nil && strings.Contains(err.Error(), canary) && !strings.Contains(coding, canary) {
				t.Fatalf("the body is in %v", err)
			}
		}
	})
}

func TestPrepare(t *testing.T) {
	long := strings.Repeat(order, 100)
	ten := map[string]string{}
	for i := range 10 {
		ten[fmt.Sprint("a", i)] = "v"
	}
	withDefault := encoded.Config{Default: "gzip"}
	for name, c := range map[string]struct {
		cfg        encoded.Config
		body       string
		attributes map[string]string
		coding     string // none if it is left unchanged
		err        string
	}{
		"long":                          {body: long, coding: "gzip"},
		"long, with an attribute":       {body: long, attributes: map[string]string{"kind": "order"}, coding: "gzip"},
		"another name":                  {cfg: encoded.Config{Attribute: "encoding"}, body: long, coding: "gzip"},
		"short":                         {body: "x"},
		"short, with a default":         {cfg: withDefault, body: "x", coding: "identity"},
		"encoded already":               {body: long, attributes: map[string]string{encoded.Attribute: "identity"}},
		"encoded already, with default": {cfg: withDefault, body: long, attributes: map[string]string{encoded.Attribute: "identity"}},
		"larger than the bound":         {body: strings.Repeat("a", 1<<20+1), err: "the body has 1048577 bytes, more than MaxBytes (1048576)"},
		"larger, and not compressible":  {cfg: encoded.Config{MaxBytes: 10}, body: "0a1b2c3d4e5f"},
		"as large as the bound":         {body: strings.Repeat("a", 1<<20), coding: "gzip"},
		"ten attributes":                {body: long, attributes: ten},
		"ten attributes, with default":  {cfg: withDefault, body: long, attributes: ten, err: "10 attributes"},
	} {
		given, want := map[string]batch.MessageAttribute{}, maps.Collect(maps.All(c.attributes))
		for name, value := range c.attributes {
			given[name] = batch.MessageAttribute{DataType: "String", StringValue: value}
		}
		if c.coding != "" {
			want[cmp.Or(c.cfg.Attribute, encoded.Attribute)] = c.coding
		}
		m := sender.Message{Body: c.body, Attributes: given}
		if err := c.cfg.Prepare(t.Context(), &m); (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if compressed := len(m.Body) < len(c.body)/10; compressed != (c.coding == "gzip") || !compressed && m.Body != c.body || len(given) != len(c.attributes) {
			t.Errorf("%s: %d bytes of %d: %.40q; the attributes given are %v", name, len(m.Body), len(c.body), m.Body, given)
		}
		for name, value := range want {
			if a := m.Attributes[name]; len(m.Attributes) != len(want) || a.StringValue != value || a.DataType != "String" {
				t.Errorf("%s: attributes %v, want %v", name, m.Attributes, want)
			}
		}
		if c.coding != "" {
			r := batch.Record{Body: m.Body, MessageAttributes: m.Attributes}
			if got, _, err := handle(t, c.cfg, r); err != nil || got.Body != c.body {
				t.Errorf("%s: it arrives as %.40q, %v", name, got.Body, err)
			}
		}
	}
}
