package simulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// A finding says what is wrong in a run, and what to change.
type finding struct {
	Text string `json:"text"`
	// Try is a setting that may help. Then says what it does in a run of its own.
	Try  string `json:"try,omitempty"`
	Then string `json:"then,omitempty"`

	try []assignment
}

// quota is the number of messages that a queue may have in flight ("Amazon SQS message quotas").
const quota = 120_000

// findings returns what is wrong in a run. For each that has a setting to try, it runs the scenario
// with that.
func findings(ctx context.Context, r *run) (list []finding, err error) {
	a := analysis{r, &r.variant.scenario, r.report}
	for _, check := range []func() *finding{
		a.quota, a.outage, a.waits, a.throttled, a.slow, a.late, a.hanging, a.expired, a.duplicates, a.silent,
	} {
		f := check()
		if f == nil {
			continue
		}
		if len(f.try) > 0 {
			v, err := r.stack.o.scenarioOf(r.stack, slices.Concat(r.settings, f.try)...)
			if err != nil {
				return nil, err
			}
			then, err := model.Run(ctx, v.scenario)
			if err != nil {
				return nil, err
			}
			for i, t := range f.try {
				f.Try += strings.Repeat(" and ", min(i, 1)) + t.String()
			}
			f.Then = a.difference(then)
		}
		list = append(list, *f)
	}
	return list, nil
}

// An analysis looks for what is wrong in a run.
type analysis struct {
	r  *run
	s  *model.Scenario
	is *model.Report
}

// difference says what changes with another setting.
func (a analysis) difference(then *model.Report) string {
	return fmt.Sprintf("the age peaks at %s instead of %s, %s instead of %s, %s instead of %s",
		age(then.Peaks.Age.Value), age(a.is.Peaks.Age.Value),
		counted(then.Totals.Healthy, "healthy dead letter"), show.Number(a.is.Totals.Healthy),
		dollars(then.Cost.Total), dollars(a.is.Cost.Total))
}

// outageOf returns the longest outage that records survive.
func (a analysis) outageOf() time.Duration { return cmp.Or(a.s.Toolkit.Outage, settle.DefaultOutage) }

// spaced reports whether Outage decides when records come back.
func (a analysis) spaced() bool { return a.s.Toolkit.BackoffBase == 0 }

// rate returns the messages sent a second within a time.
func (a analysis) rate(from, until float64) float64 {
	sent, lasts := 0, 0.0
	for _, s := range a.is.Samples {
		if s.At > from && s.At <= until {
			sent += s.Sent
			lasts += a.is.Every
		}
	}
	if lasts == 0 {
		return 0
	}
	return float64(sent) / lasts
}

// quota: so many messages are in flight that SQS hands out no others.
func (a analysis) quota() *finding {
	p := a.is.Peaks
	if p.AtQuota == 0 {
		return nil
	}
	f := &finding{Text: fmt.Sprintf("From %s to %s the quota of %s messages in flight held back receives, for %s in all. Healthy messages waited, too.",
		clock(p.QuotaFrom), clock(p.QuotaUntil), show.Number(quota), age(p.AtQuota))}
	var worst *model.Trouble
	for i, t := range a.s.Troubles {
		if t.Kind == model.Errors && (worst == nil || t.Until-t.From > worst.Until-worst.From) {
			worst = &a.s.Troubles[i]
		}
	}
	if worst == nil || !a.spaced() {
		f.Text += " Let fewer records wait for their next attempt: a shorter backoff, or fewer failures."
		return f
	}
	rate := a.rate(worst.From.Seconds(), worst.Until.Seconds()) * cmp.Or(worst.Share, 1)
	// With jitter a wait is up to half longer.
	holds := time.Duration(quota / math.Max(rate, 1) / 1.5 * float64(time.Second)).Truncate(time.Minute)
	f.Text += fmt.Sprintf(" Records that failed wait in flight, and %.0f a second failed: lower %s, now %s", rate, settings.Outage.Name, brief(a.outageOf()))
	if a.s.Containers != nil {
		f.Text += ", or return batch.Abort, after which a container leaves the messages in the queue."
	} else {
		f.Text += ", or switch the event source mapping off while the outage lasts."
	}
	if holds >= time.Minute && holds < a.outageOf() {
		f.try = []assignment{{settings.Outage.Name, brief(holds)}}
	}
	return f
}

// outage: something failed for longer than records are retried.
func (a analysis) outage() *finding {
	if a.is.Totals.Healthy == 0 || a.is.Totals.Throttled > a.is.Totals.Healthy {
		return nil
	}
	f := &finding{Text: fmt.Sprintf("%s became dead letters.", counted(a.is.Totals.Healthy, "healthy message"))}
	longest := a.longest(model.Errors, model.Aborts, model.Hangs, model.Crashes)
	for _, t := range a.s.Troubles {
		if t.Kind == model.Permanents {
			f.Text += " The function returned batch.Permanent for them. Return a plain error unless no retry can help, and replay them from the dead-letter queue."
			return f
		}
	}
	switch {
	case longest > a.outageOf() && a.spaced():
		raise := (longest + 5*time.Minute - 1).Truncate(5 * time.Minute)
		f.Text += fmt.Sprintf(" The outage of %s is longer than %s, %s.", brief(longest), settings.Outage.Name, brief(a.outageOf()))
		if raise <= time.Duration(settings.Outage.Most) {
			f.try = []assignment{{settings.Outage.Name, brief(raise)}}
		}
	case longest > 0 && !a.spaced():
		f.Text += fmt.Sprintf(" The backoff does not cover the outage of %s: leave out %s, so that %s spaces the attempts.", brief(longest), settings.Backoff.Name, settings.Outage.Name)
	default:
		f.Text += fmt.Sprintf(" Each used up its %s: raise maxReceiveCount.", counted(a.s.Queue.MaxReceiveCount, "receive"))
		f.try = []assignment{{"maxReceiveCount", strconv.Itoa(min(1000, 2*a.s.Queue.MaxReceiveCount))}}
	}
	return f
}

// longest returns the length of the longest trouble of some kinds.
func (a analysis) longest(kinds ...model.Kind) (d time.Duration) {
	for _, t := range a.s.Troubles {
		if slices.Contains(kinds, t.Kind) {
			d = max(d, t.Until-t.From)
		}
	}
	return d
}

// waits: an outage is over, and messages wait for their next attempt for much longer than it took.
func (a analysis) waits() *finding {
	lasts, oldest := a.longest(model.Errors), time.Duration(a.is.Peaks.Age.Value)*time.Second
	if lasts == 0 || !a.spaced() || a.is.Totals.Healthy > 0 || a.outageOf() < 2*lasts || oldest < 2*lasts {
		return nil
	}
	f := &finding{Text: fmt.Sprintf("The outage took %s, and messages waited for up to %s, because %s of %s spaces their attempts.",
		brief(lasts), brief(oldest), settings.Outage.Name, brief(a.outageOf()))}
	if a.s.Queue.FIFO {
		f.Text += " The rest of their FIFO groups waited with them."
	}
	f.Text += " A shorter one brings them back sooner, and makes dead letters in longer outages."
	f.try = []assignment{{settings.Outage.Name, brief((lasts + time.Minute - 1).Truncate(time.Minute))}}
	return f
}

// throttled: invocations found no concurrency.
func (a analysis) throttled() *finding {
	t := a.is.Totals
	if t.Throttles == 0 {
		return nil
	}
	f := &finding{Text: counted(t.Throttles, "batch", "batches") + " found no concurrency and waited."}
	if t.Throttled > 0 {
		f.Text += fmt.Sprintf(" %s used up an attempt, although no handler saw them.", counted(t.Throttled, "delivery", "deliveries"))
	}
	if t.Healthy > 0 {
		f.Text += fmt.Sprintf(" %s became dead letters.", counted(t.Healthy, "healthy message"))
	}
	limit, m := a.concurrency(), a.s.Mapping.MaximumConcurrency
	if limit < 1 || a.s.Mapping.MaximumPollers > 0 || m > 0 && m <= limit {
		return f
	}
	f.Text += " Set MaximumConcurrency to the concurrency that the function has: then the mapping does not receive what it cannot invoke."
	if limit == 1 {
		f.Text += " The least is 2, so reserve that, too."
		f.try = append(f.try, assignment{"ReservedConcurrentExecutions", "2"})
	}
	f.try = append(f.try, assignment{"MaximumConcurrency", strconv.Itoa(min(1000, max(2, limit)))})
	return f
}

// concurrency returns the least concurrency that the function has by its reserved concurrency,
// or the account's limit.
func (a analysis) concurrency() int {
	limit := cmp.Or(a.s.Function.Reserved, a.s.Function.AccountLimit, 1000)
	for _, t := range a.s.Troubles {
		if t.Kind == model.Throttle {
			limit = min(limit, t.Concurrency)
		}
	}
	return limit
}

// limit returns the most that is handled at a time, what that is, and the setting that raises it.
func (a analysis) limit() (n int, unit, name string) {
	if c := a.s.Containers; c != nil {
		tasks := c.Tasks
		if c.Scaling != nil {
			tasks = c.Scaling.Max
		}
		return tasks * cmp.Or(c.Slots, runner.DefaultConcurrency), "slot", "Tasks"
	}
	n = a.concurrency()
	if m := a.s.Mapping.MaximumConcurrency; m > 0 && m <= n {
		return m, "invocation", "MaximumConcurrency"
	}
	return n, "invocation", ""
}

// slow: for at least a twentieth of the time all invocations or slots are busy, and more messages
// wait than they take at once.
func (a analysis) slow() *finding {
	limit, unit, name := a.limit()
	once := limit
	if a.s.Mapping != nil {
		once *= a.s.Mapping.BatchSize
	}
	behind, first, done := 0, 0.0, 0
	for _, s := range a.is.Samples {
		if s.Concurrency < limit || s.Visible <= once {
			continue
		}
		if behind++; behind == 1 {
			first = s.At
		}
		done += s.Handled + s.Failed
	}
	if behind == 0 || behind*20 < len(a.is.Samples) || done == 0 {
		return nil
	}
	lasts := float64(behind) * a.is.Every
	most, sent := float64(done)/lasts, float64(a.is.Totals.Sent)/a.is.Seconds
	all := "All " + counted(limit, unit) + " were"
	switch limit {
	case 1:
		all = "The only " + unit + " was"
	case 2:
		all = "Both " + unit + "s were"
	}
	f := &finding{Text: fmt.Sprintf("%s busy while messages waited, for %s, first at %s. %.3g records a second were handled then, and %.3g a second are sent on average.",
		all, age(lasts), clock(first), most, sent)}
	if a.s.Containers != nil && a.s.Containers.Scaling != nil {
		f.Text += " Let more containers start."
		return f
	}
	if name == "" {
		return f
	}
	f.Text += fmt.Sprintf(" With a higher %s the backlog is over sooner, if what the function uses bears it.", name)
	value := limit
	if a.s.Containers != nil {
		value = a.s.Containers.Tasks
	}
	f.try = []assignment{{name, strconv.Itoa(min(1000, max(2*value, int(math.Ceil(1.2*sent/most*float64(value))))))}}
	return f
}

// late: deliveries for which too little time was left.
func (a analysis) late() *finding {
	t := a.is.Totals
	aborts := slices.ContainsFunc(a.s.Troubles, func(t model.Trouble) bool { return t.Kind == model.Aborts })
	if t.NotStarted*1000 < t.Deliveries || t.NotStarted == 0 || aborts || a.s.Mapping == nil {
		return nil
	}
	f := &finding{Text: fmt.Sprintf("%s used up an attempt without a handler, because too little time was left in their invocation. Lower BatchSize, or raise %s or the timeout.",
		counted(t.NotStarted, "delivery", "deliveries"), settings.Concurrency.Name)}
	f.try = []assignment{{settings.Concurrency.Name, strconv.Itoa(2 * cmp.Or(a.s.Toolkit.Concurrency, runner.DefaultConcurrency))}}
	return f
}

// hanging: handlers that ran until they were abandoned.
func (a analysis) hanging() *finding {
	n := a.is.Totals.Abandoned
	if n == 0 {
		return nil
	}
	return &finding{Text: fmt.Sprintf("%s until they were abandoned. Each holds its slot until then, and its message comes back after the visibility timeout: give the calls of the function the context of the record.",
		counted(n, "handler ran", "handlers ran"))}
}

// expired: messages that were too old.
func (a analysis) expired() *finding {
	if n := a.is.Totals.Expired; n > 0 {
		return &finding{Text: fmt.Sprintf("SQS deleted %s that nobody handled within the retention of %s: raise MessageRetentionPeriod, at most 14 days.",
			counted(n, "message"), brief(a.s.Queue.Retention))}
	}
	return nil
}

// duplicates: records that were handled again.
func (a analysis) duplicates() *finding {
	if n := a.is.Totals.Duplicates; n > 0 {
		return &finding{Text: fmt.Sprintf("%s handled again, after or while another attempt did the work: package idempotency leaves them out.",
			counted(n, "record was", "records were"))}
	}
	return nil
}

// silent: healthy messages are lost to dead letters or retention, and no alarm rings.
func (a analysis) silent() *finding {
	t := a.is.Totals
	if t.DeadLetters+t.Expired == 0 || len(a.is.Rings) > 0 {
		return nil
	}
	return &finding{Text: fmt.Sprintf("No alarm rang, although there were %s. The template has %s on this queue and its dead-letter queue; template.yaml and deploy/queue.yaml of sqsbatch have those that it needs.",
		counted(t.DeadLetters+t.Expired, "dead or expired message"), counted(len(a.s.Alarms), "alarm"))}
}
