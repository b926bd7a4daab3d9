package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
)

// environment stands for a process of a function: it has a handler and an SQS
// client of its own, and can die. What a dead one still does has no effect: its
// calls fail, and what its handlers do is not noted.
type environment struct {
	rec     *recorder
	turns   *turns
	number  int // from 1; of Lambda and of the long poll
	invoke  Invoke
	ctx     context.Context // ends with it
	end     context.CancelFunc
	how     Ending       // set before ctx ends
	inUse   int          // guarded by the pool
	blocked atomic.Int64 // hooks that block now
	process *Process     // if it polls
}

func (w *world) newEnvironment() *environment {
	e := &environment{rec: w.rec, turns: w.turns}
	w.rec.locked(func() {
		w.environments++
		e.number = w.environments
	})
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// Invoke is what Lambda calls, LambdaHandler.Invoke for example.
type Invoke func(ctx context.Context, payload []byte) ([]byte, error)

func (e *environment) isDead() bool { return e.ctx.Err() != nil }

// alive calls f under the recorder's lock, unless the environment is dead.
func (e *environment) alive(f func()) {
	e.rec.locked(func() {
		if !e.isDead() {
			f()
		}
	})
}

// kill ends the environment, for all invocations that it runs.
func (e *environment) kill(how Ending) {
	e.alive(func() {
		e.how = how
		for _, i := range e.rec.h.Invocations {
			if i.Environment == e.number && !i.Ended.Came() && !i.Killed.Came() {
				i.Killed, i.How = e.rec.moment(), how
			}
		}
		if e.process != nil {
			e.process.Killed = e.rec.moment()
		}
		e.end()
	})
}

// killAt is kill in a call of an operation.
func (e *environment) killAt(how Ending, operation string) {
	if !e.isDead() {
		e.rec.struck(string(how) + " of " + operation)
	}
	e.kill(how)
}

// run carries out an invocation, and its planned kill. It does not return from a crash.
func (e *environment) run(ctx context.Context, i *Invocation, kill *Kill, payload []byte) ([]byte, error) {
	var response []byte
	var err error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("Invoke panicked: %v", v)
				e.rec.locked(func() { e.rec.h.Panicked = append(e.rec.h.Panicked, fmt.Sprint(v)) })
			}
		}()
		response, err = e.invoke(ctx, payload)
		e.turns.wait(e.turn(i.ID + "answers"))
	}()
	if kill != nil && (kill.How == Crash || kill.How == Freeze) {
		defer time.AfterFunc(kill.After, func() {
			e.turns.wait(e.turn("kill"))
			e.kill(kill.How)
		}).Stop()
	}
	select {
	case <-answered:
		if kill != nil && kill.How == AtResponse {
			e.kill(AtResponse)
		}
		e.alive(func() { i.Answered, i.Response, i.Err = e.rec.moment(), response, err })
		if i.Answered.Came() {
			return response, err
		}
	case <-e.ctx.Done():
		e.turns.wait(e.turn(i.ID + " dies"))
	}
	if e.how == Freeze {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	runtime.Goexit()
	return nil, nil
}

var errDead = errors.New("the environment is dead")

// connect is an environment's way to SQS, as a mutant has it.
func (w *world) connect(e *environment, kills func(*Invocation, int, string) Ending) http.RoundTripper {
	return mutated[http.RoundTripper](w.mutant.Transport, &connection{w: w, env: e, kills: kills})
}

// handler is a user's function in an environment, as a mutant has it.
func (w *world) handler(f Function, e *environment) batch.Handler {
	u := &user{recorder: w.rec, w: w, env: e, acts: map[string]int{}}
	return mutated(w.mutant.Handler, u.handler(f))
}

// pool are the environments of a function.
type pool struct {
	make func() *environment
	per  int // invocations at a time in one

	mu   sync.Mutex
	open []*environment
}

func (p *pool) take() *environment {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, (*environment).isDead)
	k := slices.IndexFunc(p.open, func(e *environment) bool { return e.inUse < p.per })
	if k < 0 {
		k = len(p.open)
		p.open = append(p.open, p.make())
	}
	p.open[k].inUse++
	return p.open[k]
}

func (p *pool) giveBack(e *environment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.inUse--
}

// requestID is the invocation's that a context belongs to; "" for none.
func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// roundTripper makes a function one.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// turn is who waits for a turn: someone of the environment.
func (e *environment) turn(who string) string { return fmt.Sprintf("%04d %s", e.number, who) }
