// Package redisstore is an [idempotency.Store] in Redis or Valkey. It has no client of its own:
// the program passes a function that runs a script with its client.
//
// With github.com/redis/go-redis/v9:
//
//	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
//	store := redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
//		return redis.NewScript(script).Run(ctx, client, keys, args).Result()
//	})
//
// With github.com/valkey-io/valkey-go:
//
//	store := redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
//		return valkey.NewLuaScript(script).Exec(ctx, client, keys, args).ToAny()
//	})
//
// Both send a script's digest with EVALSHA, and the script with EVAL when the server does not
// have it. In that case the script has not run, so the second call is safe. Plain EVAL works as
// well and sends about 1 KB more with each call.
//
// # What a failover may lose
//
// Redis answers before a write is on a replica or on the disk. A failover, or a crash, can
// therefore lose the last claims and completions: work whose completion is lost is done again
// when its record is delivered again, and two workers may do the same work at a time. Choose
// another store if that must not happen: DynamoDB keeps confirmed writes, and so does PostgreSQL
// with a synchronous replica.
//
// To make it rarer, set appendonly yes, for crashes, and send WAIT 1 500 behind each script, in
// one pipeline, for failovers: eval must return an error if the answer is 0. No confirmed
// completion is then lost if the replica that has it takes over. With several replicas,
// another one may. Without a replica all records are retried. min-replicas-to-write only limits
// how long writes are lost.
//
// The server must never evict keys: set maxmemory-policy to noeviction. Any other policy
// forgets claims and completions when memory is short.
//
// # Values
//
// A key of the store is one key of the server. Its value is JSON with the names of AWS
// Powertools' cache layer:
//
//	status                  INPROGRESS or COMPLETED
//	in_progress_expiration  when the claim ends, in milliseconds since 1970
//	expiration              when the server deletes the key, in seconds since 1970
//	data                    the result as a string, if there is one
//	validation              the digest of the content, if there is one
//	owner                   the claim's owner
//	remember                seconds between the end of the claim and expiration
//	data_base64             the result if it is not UTF-8
//
// Powertools ignores the last three. Powertools and this package read each other's claims and
// completions: see [idempotency.PowertoolsPython] and [idempotency.PowertoolsTypeScript] for
// equal keys. Three things differ. Powertools completes and releases without a check of the
// owner, so a late Powertools worker can change a completion of this package. Powertools for
// Python drops the validation when it completes; this package keeps it. Powertools does not
// read a result in data_base64.
//
// # Cost
//
// Each call is one script of one GET and one write at most. A new record costs two calls, a
// duplicate one. The server deletes keys that have expired. A key without a result takes about
// 300 bytes of memory. Scripts use one key each, so Redis Cluster works.
//
// # Time
//
// Ends of claims are written and compared by the server's clock, so the clocks of workers may
// differ by any amount. After a failover the clock is the new primary's.
//
// # Failures
//
// A client may repeat a call whose answer was lost: the value names the owner. Errors name the
// operation, never a key or a result. The package is tested with Redis 7.0 and Valkey 9.1.
package redisstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// Eval runs a Lua script with keys and arguments, and returns the client's result: a string, an
// int64 or a []any of them. It must return when ctx ends, and be safe for concurrent use.
type Eval func(ctx context.Context, script string, keys, args []string) (any, error)

// Store is an [idempotency.Store] in a server. Make one with [New].
type Store struct{ eval Eval }

var _ idempotency.Store = (*Store)(nil)

// New returns a store that runs scripts with eval. It makes no call.
func New(eval Eval) *Store { return &Store{eval} }

var errNoEval = errors.New("redisstore: eval is nil: pass a function that runs a script with your client")

// Validate returns an error if the store cannot run scripts. [idempotency.New] calls it when the
// handler starts.
func (s *Store) Validate() error {
	if s.eval == nil {
		return errNoEval
	}
	return nil
}

// Claim implements [idempotency.Store] with one script.
func (s *Store) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	answer, err := s.run(ctx, claim, c.Key, c.Owner, milliseconds(c.Lease), seconds(c.Remember), c.Content)
	if err != nil {
		return idempotency.Found{}, wrap("claim", err)
	}
	if n, ok := answer.(int64); ok && n == done {
		return idempotency.Found{State: idempotency.Claimed}, nil
	}
	found, err := foundOf(answer)
	return found, wrap("claim", err)
}

// Renew implements [idempotency.Store] with one script.
func (s *Store) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return s.own(ctx, "renew", renew, key, owner, milliseconds(lease))
}

// Complete implements [idempotency.Store] with one script.
func (s *Store) Complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	attribute, data := "", ""
	switch {
	case c.Result == nil:
	case utf8.Valid(c.Result):
		attribute, data = "data", string(c.Result)
	default:
		attribute, data = "data_base64", base64.StdEncoding.EncodeToString(c.Result)
	}
	return s.own(ctx, "complete", complete, key, owner, milliseconds(c.Remember), c.Content, attribute, data)
}

// Release implements [idempotency.Store] with one script.
func (s *Store) Release(ctx context.Context, key, owner string) error {
	return s.own(ctx, "release", release, key, owner)
}

// own runs a script that changes the value of a key if the owner has the claim.
func (s *Store) own(ctx context.Context, operation, script, key string, args ...string) error {
	answer, err := s.run(ctx, script, key, args...)
	if err != nil {
		return wrap(operation, err)
	}
	switch n, ok := answer.(int64); {
	case ok && n == done:
		return nil
	case ok && n == notOwner:
		return idempotency.ErrNotOwner
	}
	return wrap(operation, fmt.Errorf("%w: %T", errAnswer, answer))
}

const maxKey = 1024

func (s *Store) run(ctx context.Context, script, key string, args ...string) (any, error) {
	switch {
	case s.eval == nil:
		return nil, errNoEval
	case key == "" || len(key) > maxKey:
		return nil, fmt.Errorf("the key has %d bytes, must have 1 to %d", len(key), maxKey)
	case ctx.Err() != nil:
		return nil, ctx.Err() // clients may check ctx later
	}
	return s.eval(ctx, script, []string{key}, args)
}

// wrap adds the operation to err. It returns nil for nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: %s: %w", operation, err)
}

var errAnswer = errors.New("the script's answer is not one of this package: is eval's result what the client returns?")

// value is the stored value of a key.
type value struct {
	Status     string          `json:"status"`
	Data       json.RawMessage `json:"data"`
	DataBase64 []byte          `json:"data_base64"`
	Validation string          `json:"validation"`
}

// foundOf decodes the answer to a refused claim: the value, and the time until the claim ends.
func foundOf(answer any) (idempotency.Found, error) {
	list, _ := answer.([]any)
	if len(list) != 2 {
		return idempotency.Found{}, fmt.Errorf("%w: %T", errAnswer, answer)
	}
	text, isText := list[0].(string)
	left, isNumber := list[1].(int64)
	if !isText || !isNumber {
		return idempotency.Found{}, fmt.Errorf("%w: %T and %T", errAnswer, list[0], list[1])
	}
	var v value
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return idempotency.Found{}, errors.New("the key's value is not a claim: does another program write to it?")
	}
	switch v.Status {
	case "COMPLETED":
		return idempotency.Found{State: idempotency.Completed, Result: v.result(), Content: v.Validation}, nil
	case "INPROGRESS":
		return idempotency.Found{State: idempotency.InProgress, Left: time.Duration(max(0, left)) * time.Millisecond, Content: v.Validation}, nil
	}
	return idempotency.Found{}, fmt.Errorf("the status of the key's value is %q, must be INPROGRESS or COMPLETED: does another program write to it?", v.Status)
}

// result returns the text of a string, the form of this package and of Powertools for Python,
// or the JSON of any other value, the form of Powertools for TypeScript.
func (v *value) result() []byte {
	var text string
	switch {
	case v.DataBase64 != nil:
		return v.DataBase64
	case v.Data == nil || string(v.Data) == "null":
		return nil
	case json.Unmarshal(v.Data, &text) == nil:
		return []byte(text)
	}
	return v.Data
}

// Times are rounded up, so that no claim ends too early.

func milliseconds(d time.Duration) string { return roundedUp(d, time.Millisecond) }

func seconds(d time.Duration) string { return roundedUp(d, time.Second) }

func roundedUp(d, unit time.Duration) string {
	return strconv.FormatInt(int64((d+unit-1)/unit), 10)
}
