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
		`{"detail":{"id":"1","id":"2"}}`:            "1",
		`{"detail":{"id":"o-1"}, and no JSON`:       "o-1",
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
