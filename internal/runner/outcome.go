package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// ErrLost is the error of a delivery that was not started because others may have received
// the record.
var ErrLost = errors.New("not started, the record's visibility timeout is over")

var expired = failure{ErrLost, Verdict{Lost: true}}

// advance finishes a delivery that is gone or taken back, and makes the next of its group ready.
func (r *Runner) advance(d *Delivery) {
	r.enter(d, Finished)
	if !d.Record.FIFO() {
		return
	}
	next := d.next
	d.next = nil
	switch {
	case next == nil:
		delete(r.groups, keyOf(d))
	case next.follows: // its worker goes on with it
	case d.alone:
		r.notStart(next, r.withdrawn)
	default:
		r.ready.pushFront(next) // its worker is there for it
	}
}

// failOrDecide finishes a delivery that failed, or asks the owner whether it can be dead-lettered, so
// that those behind it go on: SQS gives up on all of them after the same number of deliveries, whether
// a handler saw them or not. It reports whether the owner was asked.
func (r *Runner) failOrDecide(d *Delivery, outcome batch.Outcome, err error, now time.Time) (decides bool) {
	d.Result.Outcome, d.Result.Err = outcome, err
	d.Result.Duration = now.Sub(d.Result.Started)
	cutoff := r.cutoff(d)
	decides = r.options.Decide != nil && d.next != nil && !r.paused && (cutoff.IsZero() || now.Before(cutoff))
	if d.Verdict.Aborts { // all others would fail
		r.Pause()
	}
	if !decides {
		r.fail(d)
		return false
	}
	r.enter(d, Deciding)
	r.deciding = append(r.deciding, d)
	r.options.Decide(d)
	r.signal()
	return true
}

// report passes a finished delivery to the owner.
func (r *Runner) report(d *Delivery) {
	if r.options.Finished != nil {
		r.options.Finished(d)
	}
	r.signal()
}

// fail finishes a delivery that has failed, and skips the records that wait for it.
func (r *Runner) fail(d *Delivery) {
	r.enter(d, Finished)
	if d.Record.FIFO() {
		delete(r.groups, keyOf(d))
	}
	for behind := d.next; behind != nil; behind = behind.next {
		r.enter(behind, Finished)
		behind.Result.Outcome, behind.Result.Err = batch.NotStarted, d.Result.Err
		if d.Result.Outcome != batch.NotStarted {
			behind.Result.Outcome = batch.Skipped
			behind.Result.Err = fmt.Errorf("%w: record %s of its group failed before it", batch.ErrSkipped, d.Record.MessageID)
		}
	}
	r.report(d)
}

// notStart finishes a delivery that was not started, although its turn had come.
func (r *Runner) notStart(d *Delivery, why error) {
	d.Result.Outcome, d.Result.Err = batch.NotStarted, why
	d.Result.Started, d.Result.Allowed = time.Time{}, 0
	r.fail(d)
}

// notify notifies the hooks of d, which has finished, and of the records that were skipped
// because of it. It does not hold the lock. The caller has counted it in r.notifying, and
// has copied the results, since those may be settled before a slow hook returns.
func (r *Runner) notify(d *Delivery, results []batch.Result) {
	r.mu.Unlock()
	defer func() { // also after a Goexit
		r.mu.Lock()
		r.notifying--
		r.checkIdle()
	}()
	r.Hooks.RecordFinished((*recordContext)(d), results[0])
	for _, skipped := range results[1:] {
		r.Hooks.RecordFinished(batch.WithRecord(r.parent, *skipped.Record), skipped)
	}
}

// notifyAside notifies the hooks of a delivery that has finished and has no goroutine.
func (r *Runner) notifyAside(d *Delivery) {
	if !r.Hooks.Outcomes {
		return
	}
	r.notifying++
	results := d.copies()
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notify(d, results)
	}()
}
