package random

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// StoreCall is one call to an idempotency store.
type StoreCall struct {
	Operation  string // Claim, Renew, Complete or Release
	Key, Owner string
	Lease      time.Duration
	Completion idempotency.Completion
}

// Around is a store whose calls go through a function: it makes a call by do, or not, once or
// later, and decides what the caller is answered.
type Around struct {
	Store idempotency.Store
	Call  func(ctx context.Context, c StoreCall, do func(ctx context.Context) (idempotency.Found, error)) (idempotency.Found, error)
}

func (a *Around) call(ctx context.Context, c StoreCall, do func(ctx context.Context) error) error {
	_, err := a.Call(ctx, c, func(ctx context.Context) (idempotency.Found, error) { return idempotency.Found{}, do(ctx) })
	return err
}

// Claim implements idempotency.Store, as the methods below.
func (a *Around) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	return a.Call(ctx, StoreCall{Operation: "Claim", Key: c.Key, Owner: c.Owner, Lease: c.Lease}, func(ctx context.Context) (idempotency.Found, error) {
		return a.Store.Claim(ctx, c)
	})
}

func (a *Around) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return a.call(ctx, StoreCall{Operation: "Renew", Key: key, Owner: owner, Lease: lease}, func(ctx context.Context) error {
		return a.Store.Renew(ctx, key, owner, lease)
	})
}

func (a *Around) Complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	return a.call(ctx, StoreCall{Operation: "Complete", Key: key, Owner: owner, Completion: c}, func(ctx context.Context) error {
		return a.Store.Complete(ctx, key, owner, c)
	})
}

func (a *Around) Release(ctx context.Context, key, owner string) error {
	return a.call(ctx, StoreCall{Operation: "Release", Key: key, Owner: owner}, func(ctx context.Context) error {
		return a.Store.Release(ctx, key, owner)
	})
}
