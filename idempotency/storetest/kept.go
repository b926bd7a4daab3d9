package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

var keptTests = []test{
	{"Kept_ResultsByteForByte", func(t *tester) {
		base := t.key
		for name, result := range map[string][]byte{
			"none":          nil,
			"empty":         {},
			"JSON":          []byte("{\"a\": [1, \"\\u00e9\u00e9\", null]}\n"),
			"null":          []byte("null"),
			"spaces":        []byte("  \t\n "),
			"not UTF-8":     {0xff, 0xfe, 0, 'a'},
			"half a letter": []byte("é")[:1],
			"control":       []byte("\x00\x01\x1f\x7f"),
			"separators":    []byte("\u2028\u2029\ufeff\ufffd<>&"),
			"two forms":     []byte("é e\u0301"),
			"emoji":         []byte("👩‍🚀"),
		} {
			t.key = base + name
			t.wantClaimed("A", long)
			c := idempotency.Completion{Result: result, Remember: ever}
			t.done(t.store.Complete(t.Context(), t.key, "A", c))
			got := t.claim("B", long)
			if got.State != idempotency.Completed || !bytes.Equal(got.Result, result) || (got.Result == nil) != (result == nil) {
				t.Errorf("%s: %v, %#v; want %#v", name, got.State, got.Result, result)
			}
		}
	}},
	{"Kept_ResultsAreCopies", func(t *tester) {
		t.wantClaimed("A", long)
		result := []byte("A's")
		t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Result: result, Remember: ever}))
		copy(result, "xxx")
		got := t.claim("B", long)
		copy(got.Result, "yyy")
		t.wantCompleted("A's")
	}},
	{"Kept_LargestResult", func(t *tester) {
		base := t.key
		text := bytes.Repeat([]byte(`"`), idempotency.MaxResult) // each is two bytes in JSON
		noise := make([]byte, idempotency.MaxResult)
		_, _ = rand.Read(noise)
		for i, result := range [][]byte{text, noise} {
			t.key = fmt.Sprint(base, i)
			t.wantClaimed("A", long)
			t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Result: result, Remember: ever}))
			if got := t.claim("B", long); got.State != idempotency.Completed || !bytes.Equal(got.Result, result) {
				t.Errorf("result %d: %v with %d bytes, want the %d bytes that were kept", i, got.State, len(got.Result), len(result))
			}
		}
	}},
	{"Kept_Content", func(t *tester) {
		t.claims(idempotency.Claim{Key: t.key, Owner: "A", Lease: long, Remember: ever, Content: "a digest"})
		t.want(t.claim("B", long), idempotency.Found{State: idempotency.InProgress, Content: "a digest"})
		t.done(t.store.Complete(t.Context(), t.key, "A", idempotency.Completion{Result: []byte("A's"), Content: "a digest", Remember: ever}))
		t.want(t.claim("B", long), idempotency.Found{State: idempotency.Completed, Result: []byte("A's"), Content: "a digest"})
	}},
	{"Kept_OddKeys", func(t *tester) {
		unique := t.key
		for name, key := range map[string]string{
			"as long as can be": unique + strings.Repeat("x", 1024-len(unique)),
			"as long, 3 bytes":  unique + strings.Repeat("€", (1024-len(unique))/len("€")),
			"spaces":            unique + " \t\n ",
			"control":           unique + "\x00\x01\x1f\x7f",
			"placeholders":      unique + "#key :owner ${a} {{b}} %s ' \" \\",
			"path":              unique + "/../a?b=c&d#e",
			"two forms":         unique + "é",
			"the other form":    unique + "e\u0301",
			"case":              unique + "É",
			"emoji":             unique + "👩‍🚀",
			"separators":        unique + "\u2028\ufeff\ufffd",
		} {
			t.key = key
			if got := t.claim("A", long); got.State != idempotency.Claimed {
				t.Errorf("%s: found %v, want it to be free", name, got.State)
				continue
			}
			t.done(t.renew("A", long))
			t.wantInProgress(long/2, long)
			t.done(t.release("A"))
			t.wantClaimed("B", long)
			t.done(t.complete("B", name))
			t.wantCompleted(name)
		}
	}},
}
