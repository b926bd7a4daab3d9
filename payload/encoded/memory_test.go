package encoded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

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
