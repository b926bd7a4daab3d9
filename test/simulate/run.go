package simulate

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

const (
	// enough is how long after the end of its troubles a history has to be
	// over: what is hidden longest is hidden for 12 h, and a group may wait for that 25 times.
	enough = 13 * 24 * time.Hour
	// settled is how long nothing must have happened before polling is interrupted to skip a long wait.
	settled  = 10 * time.Second
	longWait = 40 * time.Second
	// tooMany is how many invocations, or records of processes, a history may have until its
	// troubles end, besides one a second for each message: one with more will never be over.
	tooMany = 5000
	// tooManyOfMutant is the same for mutants, some of which have records come back in no time.
	tooManyOfMutant = 500
)

// Run carries out a plan and returns what happened. It must be called in a
// bubble of testing/synctest. The error is for plans that cannot be carried out.
func Run(p Plan, mutant Mutant) (*History, error) {
	w := &world{plan: p, mutant: mutant, rec: newRecorder(p), over: make(chan struct{}), turns: newTurns(p.Seed), tooMany: tooMany + len(p.Messages)*int(p.Heal/time.Second)}
	if !reflect.ValueOf(mutant).IsZero() {
		w.tooMany = tooManyOfMutant
	}
	w.server = sqs.New(sqs.Config{Seed: p.Seed, History: 5000, Observe: w.rec.observe})
	defer func() { _ = w.server.Close() }() // without a socket it never fails
	go w.turns.run()
	defer w.turns.end()
	w.store = mutated[idempotency.Store](mutant.Store, idempotency.NewMemory())
	w.own = w.client(w.inTurn("the simulator"), 0)
	w.breaks, w.storeFaults, w.kills = make([]int, len(p.Breaks)), make([]int, len(p.StoreFaults)), make([]int, len(p.Kills))
	if err := w.createQueues(); err != nil {
		return nil, err
	}
	err := w.server.Inject(p.Faults...)
	if err != nil {
		return nil, err
	}
	var d driver
	if p.Polls() {
		d, err = newOnPoll(w)
	} else {
		d, err = newOnLambda(w)
	}
	if err != nil {
		return nil, err
	}
	w.live(d)
	if !w.healed.Load() {
		close(w.over)
	}
	// What handlers that were given up on still do must change nothing.
	time.Sleep(2*15*time.Minute + time.Second)
	w.turns.wait("end")
	d.close()
	w.count()
	w.readDead()
	w.rec.h.Turns = w.turns.drawn
	return w.rec.h, w.sendErr
}

// world is what a plan is carried out in.
type world struct {
	plan         Plan
	mutant       Mutant
	rec          *recorder
	server       *sqs.Server
	own          *awssqs.Client // the simulator's
	healed       atomic.Bool
	turns        *turns
	over         chan struct{} // closed when everything is healed, or at the end
	sent         atomic.Bool
	sendErr      error
	store        idempotency.Store
	environments int // how many there were; guarded by the recorder's lock
	tooMany      int // as the constant; some more than there were once it has healed

	// Calls that each of the plan's breaks, store faults and kills could have struck; guarded
	// by the recorder's lock.
	breaks, storeFaults, kills []int
}

func (w *world) createQueues() error {
	for _, name := range w.plan.deadLetterQueues() {
		if err := w.create(name, map[string]string{}); err != nil {
			return err
		}
	}
	for _, q := range w.plan.Queues {
		attributes := map[string]string{"VisibilityTimeout": fmt.Sprint(int(q.Visibility.Seconds()))}
		if q.MaxReceive > 0 {
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, w.server.QueueARN(q.DeadLetters), q.MaxReceive)
		}
		if err := w.create(q.Name, attributes); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) create(name string, attributes map[string]string) error {
	attributes["MessageRetentionPeriod"] = "1209600" // nothing may expire
	_, err := harness.MakeQueue(context.Background(), w.own, name, attributes)
	return err
}

// live goes on until every message is done, or nothing will come of it.
func (w *world) live(d driver) {
	go w.send()
	d.enable()
	defer d.disable()
	for begin := time.Now(); ; time.Sleep(time.Second) {
		w.turns.wait("live")
		heal := begin.Add(w.plan.Heal)
		if !w.healed.Load() && !time.Now().Before(heal) {
			w.healed.Store(true)
			close(w.over)
			w.server.ClearFaults()
			w.tooMany = w.rec.steps() + 100 + 20*len(w.plan.Messages)
			w.rec.locked(func() { w.rec.h.Healed = w.rec.moment() })
		}
		switch {
		case w.sent.Load() && w.rec.over():
			return
		case time.Since(heal) > enough || w.rec.steps() > w.tooMany:
			w.rec.h.Stuck = true
			return
		}
		// Polling through hours in which nothing can happen would only take
		// time: the mappings are disabled until then.
		if !w.sent.Load() || !w.rec.isQuiet() || d.busy() {
			continue
		}
		next := w.next()
		if !w.healed.Load() && heal.Before(next) {
			next = heal
		}
		if time.Until(next) > longWait {
			d.disable()
			time.Sleep(time.Until(next))
			d.enable()
		}
	}
}

// send sends the plan's messages, those of one moment together.
func (w *world) send() {
	begin := time.Now()
	for list := w.plan.Messages; len(list) > 0; {
		n := 1
		for n < len(list) && n < 10 && list[n].At == list[0].At && list[n].Queue == list[0].Queue {
			n++
		}
		time.Sleep(time.Until(begin.Add(list[0].At)))
		queue := w.plan.Queues[list[0].Queue]
		in := &awssqs.SendMessageBatchInput{QueueUrl: aws.String(w.server.QueueURL(queue.Name))}
		for i, m := range list[:n] {
			in.Entries = append(in.Entries, m.entry(i, queue.FIFO()))
		}
		out, err := w.own.SendMessageBatch(context.Background(), in)
		if err == nil && len(out.Failed) > 0 {
			err = fmt.Errorf("%s: %s", aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
		}
		if err != nil {
			w.sendErr = fmt.Errorf("sending to %s: %w", queue.Name, err)
			break
		}
		list = list[n:]
	}
	w.sent.Store(true)
}

// count adds up the faults that struck.
func (w *world) count() {
	for _, c := range w.server.Calls() {
		if c.Fault != "" {
			w.rec.struck(string(c.Fault) + " of " + c.Operation)
		}
	}
}

// next is when a message of a source queue becomes visible; the zero time if one can be received now.
func (w *world) next() (next time.Time) {
	for _, q := range w.server.Snapshot() {
		if !w.rec.sources[q.Name] {
			continue
		}
		locked := map[string]bool{} // groups of which a message is in flight
		for _, m := range q.Messages {
			locked[m.MessageGroupID] = locked[m.MessageGroupID] || isFIFO(q.Name) && m.State == sqs.MessageInFlight
		}
		for _, m := range q.Messages {
			switch {
			case m.State != sqs.MessageVisible:
				if next.IsZero() || m.VisibleAt.Before(next) {
					next = m.VisibleAt
				}
			case !locked[m.MessageGroupID]:
				return time.Time{}
			}
		}
	}
	return next
}

// readDead reads what is in the dead-letter queues.
func (w *world) readDead() {
	w.rec.locked(func() { w.rec.closed = true }) // what follows is no part of the history
	names := w.plan.deadLetterQueues()
	for _, q := range w.server.Snapshot() {
		for _, m := range q.Messages {
			if slices.Contains(names, q.Name) {
				w.rec.h.Dead = append(w.rec.h.Dead, dead(q.Name, m))
			}
		}
	}
}

// RunInBubble carries out a plan in a bubble of its own, of which nothing may be left at the end.
func RunInBubble(t *testing.T, p Plan, mutant Mutant) (h *History, err error) {
	t.Helper()
	defer func() {
		v := recover() // synctest panics when goroutines are left
		switch {
		case v == nil:
		case h != nil:
			h.Leaked = fmt.Sprint(v)
		default:
			panic(v)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, p.Seed)
		h, err = Run(p, mutant)
	})
	return h, err
}

// driver runs the user's handler over the queues' messages: one for each mode of the toolkit.
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

// Mutant breaks something in front of the toolkit, to show that the checks see it. Its functions may be nil.
type Mutant struct {
	// Invoke wraps LambdaHandler.Invoke, and may use its environment's connection to SQS.
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

	// In the long-poll mode Poll changes the rest of the configuration, and Poller wraps what is made of it.
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
