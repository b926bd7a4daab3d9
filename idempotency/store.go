package idempotency

import (
	"context"
	"errors"
	"time"
)

// Store stores claims and completions of keys. Package dynamostore has one in DynamoDB,
// sqlstore in PostgreSQL or SQLite, redisstore in Redis or Valkey. [NewMemory] returns one for
// tests. Package storetest tests a store of your own.
//
// Methods must be safe for concurrent use, and return an error when their context ends. A
// failed call may have taken effect, or may do so later, and clients retry. A store must
// therefore accept the same call again.
//
// A store may also have a method Validate() error. The program that runs the handler calls it
// at the start, and ends if it returns an error.
type Store interface {
	// Claim claims a key for c.Owner, if the key is free: it was never claimed, its claim was
	// released or has ended, or its completion is no longer kept. Otherwise it returns the
	// existing claim or completion and changes nothing. Of any number of concurrent claims
	// one gets the key. If c.Owner has the claim already, the result is Claimed, and the claim
	// lasts for at least c.Lease from now on. If c.Owner has completed it, the result is
	// Completed.
	Claim(ctx context.Context, c Claim) (Found, error)
	// Renew extends the claim of a key to lease from now on. It never shortens a claim, so a
	// late renewal does no harm. If owner does not have the claim, Renew changes nothing and
	// returns ErrNotOwner, which may be wrapped. A completion is not a claim any more. A claim
	// that has ended still has its owner until another owner claims the key.
	Renew(ctx context.Context, key, owner string, lease time.Duration) error
	// Complete turns a claim into a completion, which is kept for c.Remember. It returns
	// ErrNotOwner as Renew does, but nil if the same owner completes again.
	Complete(ctx context.Context, key, owner string, c Completion) error
	// Release frees a key. If owner does not have the claim, or has completed it, Release
	// changes nothing and returns ErrNotOwner or nil.
	Release(ctx context.Context, key, owner string) error
}

// ErrNotOwner is returned by a [Store] when a claim has another owner, or does not exist.
var ErrNotOwner = errors.New("idempotency: the worker no longer holds the claim")

// Claim is a worker's claim of a key in a [Store].
type Claim struct {
	// Key is 1 to 1,024 bytes of valid UTF-8.
	Key string
	// Owner identifies this claim; it is unique.
	Owner string
	// Lease is the time until the claim ends, unless it is renewed. It may be 0.
	Lease time.Duration
	// Remember is how long the store may keep a claim after its end. During that time the
	// owner can still renew or complete it, unless another owner has claimed the key.
	Remember time.Duration
	// Content is a digest that must be equal for equal keys; empty for none.
	Content string
}

// Completion is a [Store]'s record of work that is done.
type Completion struct {
	// Result is any bytes, up to MaxResult of them. Nil means no result, which differs from
	// an empty one.
	Result []byte
	// Content is as in Claim.
	Content string
	// Remember is how long the completion is kept. A store may keep it a second longer.
	Remember time.Duration
}

// State is the state of a key.
type State uint8

const (
	// Claimed: the key was free, and is claimed now.
	Claimed State = iota + 1
	// InProgress: another worker has claimed the key.
	InProgress
	// Completed: the work was done.
	Completed
)

func (s State) String() string {
	switch s {
	case Claimed:
		return "claimed"
	case InProgress:
		return "in progress"
	case Completed:
		return "completed"
	}
	return "unknown"
}

// Found is the result of [Store.Claim].
type Found struct {
	State State
	// Left is the time until the other worker's claim ends, if State is InProgress.
	Left time.Duration
	// Result is the completion's result, if State is Completed.
	Result []byte
	// Content is the content of the completion, or of the other worker's claim.
	Content string
}
