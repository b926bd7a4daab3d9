package main

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
	storeClaim    = "claim"
	storeRenew    = "renew"
	storeComplete = "complete"
	storeRelease  = "release"
)

// storePath is where the store is.
const storePath = "/idempotency-store"

// storeRequest is one call. Of Claim the key and the owner count for all operations.
type storeRequest struct {
	Operation  string
	Claim      idempotency.Claim
	Completion idempotency.Completion
}

// storeAnswer is the answer to a Request.
type storeAnswer struct {
	Found    idempotency.Found
	NotOwner bool
}

// storeClient is a store at a URL.
type storeClient struct{ URL string }

func (c storeClient) call(ctx context.Context, ask storeRequest) (answer storeAnswer, err error) {
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

// storeClaim implements idempotency.Store, as the methods below.
func (c storeClient) Claim(ctx context.Context, claim idempotency.Claim) (idempotency.Found, error) {
	answer, err := c.call(ctx, storeRequest{Operation: storeClaim, Claim: claim})
	return answer.Found, err
}

func (c storeClient) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	_, err := c.call(ctx, storeRequest{Operation: storeRenew, Claim: idempotency.Claim{Key: key, Owner: owner, Lease: lease}})
	return err
}

func (c storeClient) Complete(ctx context.Context, key, owner string, done idempotency.Completion) error {
	_, err := c.call(ctx, storeRequest{Operation: storeComplete, Claim: idempotency.Claim{Key: key, Owner: owner}, Completion: done})
	return err
}

func (c storeClient) Release(ctx context.Context, key, owner string) error {
	_, err := c.call(ctx, storeRequest{Operation: storeRelease, Claim: idempotency.Claim{Key: key, Owner: owner}})
	return err
}
