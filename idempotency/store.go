package idempotency

import (
	"context"
	"errors"
	"time"
)

// Store has the claims and completions of keys. Package dynamostore has one in DynamoDB,
// sqlstore in PostgreSQL or SQLite, redisstore in Redis or Valkey. [NewMemory] makes one for tests.
// Package storetest tests a store of your own.
//
// Its methods are called from several goroutines at a time. They return when their context
// ends, with an error. A call that failed may have been done nevertheless, also later. A
// store must therefore accept the same call once more, as clients make it that retry.
//
// A store may have a method Validate() error as well. The program that runs the handler calls
// it at the start, and ends with its error.
type Store interface {
	// Claim claims a key for c.Owner, if it is free: it was never claimed, its claim was
	// released or has ended, or its completion was forgotten. Else it returns what it
	// found and changes nothing. Of any number of claims at a time one gets the key. A
	// claim that c.Owner has already is Claimed, and lasts for c.Lease from now on at least.
	// A claim that its owner has completed is Completed.
	Claim(ctx context.Context, c Claim) (Found, error)
	// Renew has the claim of a key last for lease from now on. It never makes a claim
	// shorter, so a renewal that arrives late does no harm. It returns ErrNotOwner, also
	// wrapped, when owner does not have the claim any more, and then changes nothing. A
	// claim that was completed is no claim any more. A claim that has ended, and which
	// no other owner has claimed, is still its owner's.
	Renew(ctx context.Context, key, owner string, lease time.Duration) error
	// Complete makes a claim a completion, which is kept for c.Remember. It returns
	// ErrNotOwner as Renew does, but to complete once more is no error for the same owner.
	Complete(ctx context.Context, key, owner string, c Completion) error
	// Release frees a key. It returns ErrNotOwner, or nil, and changes nothing when owner
	// does not have the claim any more; a completion stays.
	Release(ctx context.Context, key, owner string) error
}

// ErrNotOwner is returned by a [Store] when a claim has another owner, or does not exist.
var ErrNotOwner = errors.New("idempotency: the claim is not the worker's any more")

// Claim is what a worker asks a [Store] for.
type Claim struct {
	// Key is 1 to 1,024 bytes of valid UTF-8.
	Key string
	// Owner names this claim; no other claim has the same.
	Owner string
	// Lease is after how long the claim ends unless it is renewed. It may be 0.
	Lease time.Duration
	// Remember is for how long the store may keep what is left of a claim that ended. For
	// that time its owner can still renew or complete it, unless another has claimed the key.
	Remember time.Duration
	// Content is a digest of what must be the same for the same key; empty for none.
	Content string
}

// Completion is what a [Store] remembers of work that is done.
type Completion struct {
	// Result is any bytes, up to MaxResult of them. Nil is none, which is not the same as
	// an empty one.
	Result []byte
	// Content is as in Claim.
	Content string
	// Remember is for how long the completion is kept. A store may keep it a second longer.
	Remember time.Duration
}

// State is how a key is.
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

// Found is what a claim found.
type Found struct {
	State State
	// Left is, if InProgress, after how long the other's claim ends.
	Left time.Duration
	// Result and Content are, if Completed, those of the completion; Content, if
	// InProgress, that of the claim.
	Result  []byte
	Content string
}
