package simulate

import (
	"net/http"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// driver is what runs the user's handler over the queues' messages. Another
// mode of the toolkit needs another driver, and nothing else.
type driver interface {
	// enable polls the queues from now on.
	enable()
	// disable stops polling, and returns when nothing is under way.
	disable()
	// busy reports whether something is under way that the recorder cannot see.
	busy() bool
	// close ends everything.
	close()
}

// Mutant breaks something in front of the toolkit, to show that the checks see
// it. Its functions may be nil.
type Mutant struct {
	// Invoke wraps LambdaHandler.Invoke, and may use its environment's
	// connection to SQS.
	Invoke func(next Invoke, connection http.RoundTripper) Invoke
	// Transport wraps the toolkit's connection to SQS.
	Transport func(next http.RoundTripper) http.RoundTripper
	// Config changes the configuration, of a poller as far as it has the same.
	Config func(*handler.Config)

	// Handler wraps what is given to the toolkit.
	Handler func(next batch.Handler) batch.Handler

	// Guard wraps a function's idempotency, and Store what all processes share.
	Guard func(next batch.Handler) batch.Handler
	Store func(next idempotency.Store) idempotency.Store

	// In the long-poll mode Poll changes the rest of the configuration, and Poller wraps
	// what the toolkit makes of it.
	Poll   func(*longpoll.Config)
	Poller func(next Poller, env *environment) Poller
}

// mutated is what a mutant makes of something.
func mutated[T any](wrap func(T) T, next T) T {
	if wrap == nil {
		return next
	}
	return wrap(next)
}
