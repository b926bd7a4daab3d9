package letter_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

func TestReasonGroup(t *testing.T) {
	for reason, want := range map[string]string{
		"":                               "",
		"no customer 17":                 "no customer N",
		"timeout after 1.5s":             "timeout after Ns",
		"order o-17: no\n\tstock":        "order o-N: no stock",
		"order o17 is late":              "order oN is late",
		`no customer "alice"`:            `no customer "…"`,
		`no customer "a \" b" 1`:         `no customer "…" N`,
		`cut off in "alic`:               `cut off in "…"`,
		"no `id`":                        `no "…"`,
		"can't find 'x y', sorry":        `can't find "…", sorry`,
		"the users' and the shops' data": "the users' and the shops' data",
		"mail to alice.b+c@example.com":  "mail to EMAIL",
		"before 2026-11-22T10:00:00.5Z":  "before TIME",
		"on 2026-11-22":                  "on TIME",
		"request 6f1f7f2e-3c1b-4c37-9f0e-0123456789ab failed":                "request ID failed",
		"commit deadbeef12 at 0xc000123":                                     "commit ID at ID",
		"key 01ARZ3NDEKTSV4RRFFQ69G5FAV":                                     "key ID",
		"table arn:aws:dynamodb:eu-west-1:111122223333:table/orders, item 3": "table arn:aws:dynamodb:…, item N",
		`order "o-1": api error ThrottlingException, StatusCode: 400`:        `order "…": api error ThrottlingException, StatusCode: 400`,
		"StatusCode: 503, RequestID: ABCDEFGH12345678":                       "StatusCode: 503, RequestID: ID",
		"HTTP 404 from S3":                      "HTTP 404 from S3",
		"internationalization of base64 failed": "internationalization of base64 failed",
		"customer12345 is gone":                 "customerN is gone",
	} {
		if got := letter.ReasonGroup(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// A group's name selects the group: --reason takes it as it is shown.
func TestReasonGroupOfGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching("([a-f0-9-]{1,40}|[\"'`]|arn:aws:sqs:|http |[A-Z0-9a-z@.: /]{1,20}){1,8}"),
		).Draw(t, "reason")
		group := letter.ReasonGroup(reason)
		if again := letter.ReasonGroup(group); again != group {
			t.Fatalf("%q: the group %q has the group %q", reason, group, again)
		}
	})
}
