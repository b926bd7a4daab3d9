package idempotency_test

import (
	"errors"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

func TestField(t *testing.T) {
	const noKey, malformed = "no key", "malformed"
	key := idempotency.Field("detail", "id")
	for body, want := range map[string]string{
		`{"type":"placed","detail":{"id":"o-1"}}`:   "o-1",
		`{"detail":{"id":"o-\u00e4\n"}}`:            "o-ä\n",
		`{"detail":{"id":12345678901234567890.10}}`: "12345678901234567890.10",
		`{"detail":{"id":"true"}}`:                  "true",
		`{"detail":{"id":"o-1"}} and no JSON`:       malformed,
		`{"detail":{"id":"1","id":"2"}}`:            malformed, // decoders differ in which one they take
		`{"detail":{"id":"x","ID":"o-42"}}`:         malformed,
		`{"detail":{"id":"1"},"Detail":{"id":"2"}}`: malformed,
		`{"detail":{"id":"o-1"}, and no JSON`:       malformed,
		`{"detail":{"id":true}}`:                    noKey,
		`{"detail":{"id":false}}`:                   noKey,
		`{"detail":{"id":null}}`:                    noKey,
		`{"detail":{"id":""}}`:                      noKey,
		`{"detail":{"id":["o-1"]}}`:                 noKey,
		`{"detail":{"id":{}}}`:                      noKey,
		`{"detail":{"ID":"o-1"}}`:                   noKey,
		`{"detail":"o-1"}`:                          noKey,
		`{"detail":null}`:                           noKey,
		`["o-1"]`:                                   noKey,
		`{"detail":{"id":`:                          malformed,
		`{"detail":{"id":o-1}}`:                     malformed,
		`no JSON`:                                   malformed,
		``:                                          malformed,
	} {
		got, err := key(t.Context(), batch.Record{Body: body})
		if errors.Is(err, idempotency.ErrNoKey) {
			got = noKey
		} else if _, bad := errors.AsType[*batch.MalformedError](err); bad {
			got = malformed
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// The digests are what Powertools 3.37.0 (Python) and 2.35.0 (TypeScript) store.
func TestHash_IsPowertools(t *testing.T) {
	for key, want := range map[string][2]string{
		"abc":                      {"ebd9f4c7b06cb0aaf5d13d80e49d8b90", "69n0x7BssKr10T2A5J2LkA=="},
		"é\"\\\n\t<>&":             {"414e2e9b931afaf913f043e1e406fe04", "ZJzLWIIP7E2m+i8BnYTQ7w=="},
		"日本😀":                      {"5eaae0b493734ce8c7ed3de19a65d433", "Lxs7O8Xpd7GofvfSGBtj/A=="},
		"a\u2028b\u007f\u0001\b\f": {"69362181d9d94b037cda27cdbc3853a7", "BajW7ieA8t8PqBGak/KHcg=="},
	} {
		if got := idempotency.PowertoolsPython(key); got != want[0] {
			t.Errorf("Python: %q is %s, want %s", key, got, want[0])
		}
		if got := idempotency.PowertoolsTypeScript(key); got != want[1] {
			t.Errorf("TypeScript: %q is %s, want %s", key, got, want[1])
		}
	}
}

func TestKeysOfARecord(t *testing.T) {
	r := batch.Record{MessageID: "m-1", DeduplicationID: "d-1", MessageAttributes: map[string]batch.MessageAttribute{"id": {DataType: "String", StringValue: "o-1"}}}
	for want, key := range map[string]idempotency.KeyFunc{
		"o-1": idempotency.Attribute("id"), "d-1": idempotency.DeduplicationID, "m-1": idempotency.MessageID,
	} {
		if got, err := key(t.Context(), r); err != nil || got != want {
			t.Errorf("%q, %v; want %s", got, err, want)
		}
	}
}
