package simulate

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// StoreFault is what goes wrong with calls to the idempotency store.
type StoreFault struct {
	Kind      StoreFaultKind
	Operation string        // Claim, Renew, Complete or Release
	Skip      int           // calls that pass before the first that is struck
	Times     int           // how many are struck; 0: all until Heal
	Takes     time.Duration // of AnswersLate and ArrivesLate
}

// StoreFaultKind is what goes wrong with a call to the store.
type StoreFaultKind string

const (
	StoreRefuses StoreFaultKind = "refused"      // it fails, and is not done
	LosesAnswer  StoreFaultKind = "lost answer"  // it is done, and fails
	StoreHangs   StoreFaultKind = "hang"         // it is not done, and has no answer before its context ends
	StoreSilent  StoreFaultKind = "silence"      // it is done, and has no answer before its context ends
	AnswersLate  StoreFaultKind = "late answer"  // it is done, and answered later
	ArrivesLate  StoreFaultKind = "late arrival" // it is done later, also when its caller waits no longer
	DiesFirst    StoreFaultKind = "dies before"  // the process dies instead of it
	DiesThen     StoreFaultKind = "dies after"   // the process dies when it is done
)

var (
	storeFaultKinds = []StoreFaultKind{StoreRefuses, LosesAnswer, StoreHangs, StoreSilent, AnswersLate, ArrivesLate, DiesFirst, DiesThen}
	storeOperations = []string{"Claim", "Renew", "Complete", "Release"}
)

func (g generator) storeFault() StoreFault {
	f := StoreFault{Kind: pick(g, storeFaultKinds...), Operation: pick(g, append(storeOperations, "Renew", "Renew", "Renew")...), Skip: sometimes(g, 2, 1, 2, 5), Times: pick(g, 0, 1, 1, 3)}
	switch f.Kind {
	case AnswersLate, ArrivesLate:
		f.Takes = pick(g, 300*time.Millisecond, 2*time.Second, 7*time.Second, 40*time.Second)
	case DiesFirst, DiesThen:
		f.Times = pick(g, 1, 1, 2)
	case StoreRefuses, LosesAnswer:
		if f.Operation == "Claim" && f.Times == 0 {
			f.Times = 10 // a record that comes back at once would go round and round in no time
		}
	}
	return f
}

// StoreCall is one call to the idempotency store.
type StoreCall struct {
	Operation  string
	Key, Owner string
	Receipt    string // of the record that it is about
	Lease      time.Duration
	Began      Moment
	Done       Moment // when it took effect, or found that it has none
	Ended      Moment // when it was answered
	State      idempotency.State
	Refusal    error // the store's own answer, ErrNotOwner
	Err        error // what the caller was answered
	Struck     StoreFaultKind
}

// wayToStore is an environment's way to the store: calls may break on it, and the environment may die in them.
type wayToStore struct {
	w   *world
	env *environment
}

var errStore = errors.New("the store is down")

// Claim implements idempotency.Store, as the methods below.
func (y *wayToStore) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	call := &StoreCall{Operation: "Claim", Key: c.Key, Owner: c.Owner, Lease: c.Lease}
	var found idempotency.Found
	err := y.carry(ctx, call, func(ctx context.Context) error {
		f, err := y.w.store.Claim(ctx, c)
		call.State = f.State
		found = f
		return err
	})
	if err != nil {
		return idempotency.Found{}, err
	}
	return found, nil
}

func (y *wayToStore) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return y.carry(ctx, &StoreCall{Operation: "Renew", Key: key, Owner: owner, Lease: lease}, func(ctx context.Context) error {
		return y.w.store.Renew(ctx, key, owner, lease)
	})
}

func (y *wayToStore) Complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	return y.carry(ctx, &StoreCall{Operation: "Complete", Key: key, Owner: owner}, func(ctx context.Context) error {
		return y.w.store.Complete(ctx, key, owner, c)
	})
}

func (y *wayToStore) Release(ctx context.Context, key, owner string) error {
	return y.carry(ctx, &StoreCall{Operation: "Release", Key: key, Owner: owner}, func(ctx context.Context) error {
		return y.w.store.Release(ctx, key, owner)
	})
}

// carry makes a call, and notes it.
func (y *wayToStore) carry(ctx context.Context, call *StoreCall, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if y.env.isDead() {
		return errDead
	}
	r, _ := batch.RecordFrom(ctx)
	call.Receipt = r.ReceiptHandle
	fault := strike(y.w, y.w.plan.StoreFaults, y.w.storeFaults, func(f StoreFault) (skip, times int, may bool) {
		return f.Skip, f.Times, f.Operation == call.Operation
	})
	call.Struck = fault.Kind
	rec := y.w.rec
	rec.locked(func() {
		call.Began = rec.moment()
		if !rec.closed {
			rec.h.StoreCalls = append(rec.h.StoreCalls, call)
		}
	})
	if fault.Kind != "" {
		rec.struck(string(fault.Kind) + " of " + call.Operation)
	}
	err := y.broken(ctx, call, fault, func() error {
		var err error
		rec.locked(func() {
			err = do(context.WithoutCancel(ctx))
			call.Done, call.Refusal = rec.moment(), err
		})
		return err
	})
	if y.env.isDead() {
		return errDead
	}
	rec.locked(func() { call.Ended, call.Err = rec.moment(), err })
	return err
}

// broken has a call go its way as a fault has it.
func (y *wayToStore) broken(ctx context.Context, call *StoreCall, fault StoreFault, do func() error) error {
	if !sleep.For(ctx, y.w.plan.StoreTakes) {
		return ctx.Err()
	}
	switch fault.Kind {
	case StoreRefuses:
		return errStore
	case StoreHangs:
		sleep.For(ctx, untilHeal)
		return ctx.Err()
	case ArrivesLate:
		done := make(chan error, 1)
		time.AfterFunc(fault.Takes, func() { done <- do() })
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	case DiesFirst:
		y.env.killAt(BeforeCall, call.Operation)
		return errDead
	}
	err := do()
	switch fault.Kind {
	case LosesAnswer:
		return errStore
	case StoreSilent:
		sleep.For(ctx, untilHeal)
		return ctx.Err()
	case AnswersLate:
		if !sleep.For(ctx, fault.Takes) {
			return ctx.Err()
		}
	case DiesThen:
		y.env.killAt(AfterCall, call.Operation)
		return errDead
	}
	return err
}
