package combine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// store is a process's way to the idempotency store, which all processes share. The store is the
// database of the function's work, too.
type store struct {
	*env
	idempotency.Store
}

func (e *env) newStore() *store {
	s := &store{env: e}
	s.Store = &random.Around{Store: e.w.memory, Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (found idempotency.Found, err error) {
		e.w.database.Lock()
		defer e.w.database.Unlock()
		err = s.call(func() (err error) {
			if c.Operation == "Complete" {
				return s.complete(ctx, c.Key, c.Owner, c.Completion)
			}
			found, err = do(ctx)
			return err
		})
		return found, err
	}}
	return s
}

var (
	errDead    = errors.New("the process is dead")
	errBroken  = errors.New("made to fail")
	errNoClaim = errors.New("the context has no claim in this store")
)

// call makes a call. It may fail before it is carried out, or lose its answer, and the process may
// be dead. The caller holds the database's lock.
func (s *store) call(do func() error) error {
	before, after := s.w.breaks(), s.w.breaks()
	if s.ctx.Err() != nil {
		return errDead
	}
	if before {
		return errBroken
	}
	err := do()
	if s.ctx.Err() != nil {
		return errDead
	}
	if after {
		return errBroken
	}
	return err
}

func (s *store) complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	err := s.w.memory.Complete(ctx, key, owner, c)
	if err == nil {
		kind := Completed
		if bytes.HasPrefix(c.Result, []byte(` {"failed"`)) {
			kind = KeptFailure
		}
		s.w.write(Entry{Kind: kind, Key: s.key(key), Env: s.number})
	}
	return err
}

// inTx commits work and completions together, as sqlstore's does.
func (s *store) inTx(ctx context.Context, work func(add func(Body)) error) error {
	held, ok := idempotency.HeldFrom(ctx, s)
	if !ok {
		return errNoClaim
	}
	var done []Body
	if err := work(func(b Body) { done = append(done, b) }); err != nil {
		return err
	}
	s.w.database.Lock()
	defer s.w.database.Unlock()
	var commits []func() error
	return held.Commit(func(key, owner string, c idempotency.Completion) error {
		commits = append(commits, func() error { return s.complete(context.WithoutCancel(ctx), key, owner, c) })
		return s.call(func() error { return s.w.memory.Renew(ctx, key, owner, 0) }) // only for the owner of a claim
	}, func() error {
		return s.call(func() error {
			for _, commit := range commits {
				if err := commit(); err != nil {
					return err
				}
			}
			for _, b := range done {
				s.w.write(Entry{Kind: Committed, Message: b.N, Key: s.w.plan.Messages[b.N].Key, Env: s.number})
			}
			return nil
		})
	})
}

// s3 is a process's way to a bucket, which all processes and the simulator share.
type s3bucket struct {
	w   *world
	env *env // nil for the simulator
}

// RoundTrip implements what s3payload needs of S3.
func (s *s3bucket) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	if s.env != nil && s.env.ctx.Err() != nil {
		return nil, errDead
	}
	if s.env != nil && s.w.breaks() {
		return answer(r, http.StatusServiceUnavailable, "<Error><Code>SlowDown</Code></Error>"), nil
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	switch object, there := s.w.objects[r.URL.Path]; {
	case r.Method == http.MethodPut:
		s.w.objects[r.URL.Path] = string(body)
		return answer(r, http.StatusOK, ""), nil
	case r.Method == http.MethodDelete:
		delete(s.w.objects, r.URL.Path)
		return answer(r, http.StatusNoContent, ""), nil
	case !there:
		return answer(r, http.StatusNotFound, "<Error><Code>NoSuchKey</Code></Error>"), nil
	default:
		return answer(r, http.StatusOK, object), nil
	}
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: r, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Length": {fmt.Sprint(len(body))}},
	}
}
