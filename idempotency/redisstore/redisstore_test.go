package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
)

// The tests with a server are in idempotency/internal/servers, because of the clients.

func answers(answer any, err error) *redisstore.Store {
	return redisstore.New(func(context.Context, string, []string, []string) (any, error) { return answer, err })
}

func TestValidate(t *testing.T) {
	if err := answers(nil, nil).Validate(); err != nil {
		t.Error(err)
	}
	store := redisstore.New(nil)
	_, claiming := store.Claim(t.Context(), idempotency.Claim{Key: "a"})
	for _, err := range []error{store.Validate(), claiming, store.Release(t.Context(), "a", "A")} {
		if err == nil || !strings.Contains(err.Error(), "eval is nil") {
			t.Error(err)
		}
	}
}

// The answer of a client that is not handed over right is an error, and never a claim.
func TestStore_OtherAnswers(t *testing.T) {
	for _, answer := range []any{
		nil, "1", int64(7), true, []any{}, []any{"a"}, []any{int64(1), int64(1)}, []any{"a", "b"}, []any{"no JSON", int64(1)},
		[]any{`{"status":"OTHER"}`, int64(1)}, []any{`{"status":5}`, int64(1)}, []string{"a", "b"},
	} {
		store := answers(answer, nil)
		if found, err := store.Claim(t.Context(), idempotency.Claim{Key: "a", Owner: "A"}); err == nil {
			t.Errorf("a claim whose answer is %v found %v", answer, found)
		}
		if err := store.Complete(t.Context(), "a", "A", idempotency.Completion{}); err == nil || errors.Is(err, idempotency.ErrNotOwner) {
			t.Errorf("a completion whose answer is %v: %v", answer, err)
		}
	}
}

func TestStore_Errors(t *testing.T) {
	broken := errors.New("broken")
	store := answers(nil, broken)
	_, claiming := store.Claim(t.Context(), idempotency.Claim{Key: "secret", Owner: "A"})
	for operation, err := range map[string]error{
		"claim": claiming, "renew": store.Renew(t.Context(), "secret", "A", 1), "complete": store.Complete(t.Context(), "secret", "A", idempotency.Completion{}),
		"release": store.Release(t.Context(), "secret", "A"),
	} {
		if !errors.Is(err, broken) || err.Error() != "redisstore: "+operation+": broken" {
			t.Errorf("%s: %v", operation, err)
		}
	}
	for _, key := range []string{"", strings.Repeat("x", 1025)} {
		if err := answers(int64(1), nil).Release(t.Context(), key, "A"); err == nil {
			t.Errorf("a key of %d bytes is accepted", len(key))
		}
	}
}
