package simulate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/handler"
)

// onLambda runs the toolkit's Lambda handler under emulated event source mappings.
type onLambda struct {
	w        *world
	mappings []lambda.Mapping
	deployed []*lambda.Deployment
	stop     context.CancelFunc
	polling  sync.WaitGroup
}

func newOnLambda(w *world) (*onLambda, error) {
	d := &onLambda{w: w}
	for number := range w.plan.Functions {
		fn, err := d.deploy(number)
		if err != nil {
			d.close()
			return nil, err
		}
		d.deployed = append(d.deployed, fn)
	}
	// A call of Lambda's pollers that is not answered ends by itself.
	client := w.client(w.inTurn("Lambda"), 40*time.Second)
	for _, q := range w.plan.Queues {
		d.mappings = append(d.mappings, lambda.Mapping{
			Function: d.deployed[q.Function], SQS: client, QueueURL: w.server.QueueURL(q.Name),
			BatchSize: q.BatchSize, Window: q.Window, MaximumConcurrency: q.Concurrency, ReportBatchItemFailures: q.Report,
			Started: func(i lambda.Invocation) { w.rec.began(q, i) },
			Ended:   w.rec.ended,
		})
	}
	return d, nil
}

func (d *onLambda) deploy(number int) (*lambda.Deployment, error) {
	f := d.w.plan.Functions[number]
	first, err := d.environment(f) // a configuration that is refused shows here
	if err != nil {
		return nil, err
	}
	environments := &pool{per: f.PerEnvironment, open: []*environment{first}, make: func() *environment {
		e, err := d.environment(f)
		if err != nil { // it was accepted before
			panic(err)
		}
		return e
	}}
	return lambda.Start(lambda.Function{
		Timeout:     f.Timeout,
		Concurrency: f.Environments * f.PerEnvironment,
		Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
			i := d.w.rec.invocation(requestID(ctx))
			d.w.turns.wait(i.ID + " begins")
			e := environments.take()
			defer environments.giveBack(e)
			d.w.rec.locked(func() {
				i.Began, i.Environment = d.w.rec.moment(), e.number
				i.Deadline, _ = ctx.Deadline()
			})
			return e.run(ctx, i, d.kill(i), payload)
		},
	})
}

// kill returns what is planned for an invocation, calls aside; nil for nothing.
func (d *onLambda) kill(i *Invocation) *Kill {
	if d.w.healed.Load() {
		return nil
	}
	for k, kill := range d.w.plan.Kills {
		if kill.Invocation == i.Number && !kill.How.inCall() {
			return &d.w.plan.Kills[k]
		}
	}
	return nil
}

// kills tells which kill strikes a call of an invocation; "" for none.
func (d *onLambda) kills(i *Invocation, number int, operation string) Ending {
	return strike(d.w, d.w.plan.Kills, d.w.kills, func(k Kill) (skip, times int, may bool) {
		if k.Operation == "" {
			return 0, 1, k.How.inCall() && k.Invocation == i.Number && k.Call == number
		}
		return k.Call, 1, k.How.inCall() && k.Operation == operation && i.Number >= k.Invocation
	}).How
}

// environment starts one with a handler of its own, as a process would.
func (d *onLambda) environment(f Function) (*environment, error) {
	e := d.w.newEnvironment()
	connect := d.w.connect(e, d.kills)
	told := &hooks{recorder: d.w.rec, world: d.w, env: e, function: f}
	cfg := f.config(d.w)
	cfg.Hooks = told.hooks()
	cfg.Logger = slog.New(logs{told})
	cfg.SQS = d.w.client(connect, 0)
	if d.w.mutant.Config != nil {
		d.w.mutant.Config(&cfg)
	}
	h, err := handler.New(d.w.handler(f, e), cfg)
	if err != nil {
		return nil, err
	}
	e.invoke = h.Invoke
	if d.w.mutant.Invoke != nil {
		e.invoke = d.w.mutant.Invoke(e.invoke, connect)
	}
	return e, nil
}

func (d *onLambda) enable() {
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	for _, m := range d.mappings {
		d.polling.Go(func() {
			for ctx.Err() == nil {
				if err := m.Run(ctx); err == nil || errors.Is(err, lambda.ErrClosed) {
					return
				}
				time.Sleep(time.Second) // the queue's attributes could not be had
			}
		})
	}
}

func (d *onLambda) disable() {
	d.stop()
	d.polling.Wait()
}

func (d *onLambda) busy() bool { return false }

func (d *onLambda) close() {
	for _, fn := range d.deployed {
		_ = fn.Close() // it never fails
	}
}
