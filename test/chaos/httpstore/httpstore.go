// Package httpstore is an idempotency store that is reached by HTTP, for the workers of the
// chaos run.
package httpstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// The operations.
const (
	Claim    = "claim"
	Renew    = "renew"
	Complete = "complete"
	Release  = "release"
)

// Path is where the store is.
const Path = "/idempotency-store"

// Request is one call. Of Claim the key and the owner count for all operations.
type Request struct {
	Operation  string
	Claim      idempotency.Claim
	Completion idempotency.Completion
}

// Answer is the answer to a Request.
type Answer struct {
	Found    idempotency.Found
	NotOwner bool
}

// Client is a store at a URL.
type Client struct{ URL string }

func (c Client) call(ctx context.Context, ask Request) (answer Answer, err error) {
	defer must.Return(&err)
	body := must.Get(json.Marshal(ask))
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body)))
	response := must.Get(http.DefaultClient.Do(r))
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("the store answers %s", response.Status)
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	if err == nil && answer.NotOwner {
		err = idempotency.ErrNotOwner
	}
	return answer, err
}

// Claim implements idempotency.Store, as the methods below.
func (c Client) Claim(ctx context.Context, claim idempotency.Claim) (idempotency.Found, error) {
	answer, err := c.call(ctx, Request{Operation: Claim, Claim: claim})
	return answer.Found, err
}

func (c Client) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	_, err := c.call(ctx, Request{Operation: Renew, Claim: idempotency.Claim{Key: key, Owner: owner, Lease: lease}})
	return err
}

func (c Client) Complete(ctx context.Context, key, owner string, done idempotency.Completion) error {
	_, err := c.call(ctx, Request{Operation: Complete, Claim: idempotency.Claim{Key: key, Owner: owner}, Completion: done})
	return err
}

func (c Client) Release(ctx context.Context, key, owner string) error {
	_, err := c.call(ctx, Request{Operation: Release, Claim: idempotency.Claim{Key: key, Owner: owner}})
	return err
}
