package simulate

import (
	"cmp"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// reserve is what is kept back at the end of an invocation, by the words of
// batch.Config.
func (c *checker) reserve(i *Invocation) time.Duration {
	remaining := i.Deadline.Sub(i.Began.At)
	if r := c.Plan.Functions[i.Function].Reserve; r > 0 {
		return min(r, remaining/2)
	}
	return min(max(remaining/10, 200*time.Millisecond), 2*time.Second, remaining/4)
}

// settleBy is when the batch must be settled: the last quarter of the reserve is for
// the response.
func (c *checker) settleBy(i *Invocation) time.Time { return i.Deadline.Add(-c.reserve(i) / 4) }

// before is a time before an invocation's deadline, and a moment later, since
// an invocation takes a moment to begin.
func (c *checker) before(i *Invocation, reserve time.Duration) time.Time {
	return i.Deadline.Add(-reserve + time.Millisecond)
}

// deadlines: Limited and WithinCapacity, of invocations.
func (c *checker) deadlines() {
	running, together := map[*Invocation][]span{}, map[[2]int][]span{} // by function and environment
	for _, h := range c.Handlings {
		i := h.Invocation
		f := c.Plan.Functions[i.Function]
		switch {
		case h.Allowed.IsZero():
			c.violated(Limited, h.Started, "message %d is handled without a deadline", h.Number)
		case h.Allowed.After(c.before(i, c.reserve(i))):
			c.violated(Limited, h.Started, "message %d may take until %v before the invocation's deadline, %v are reserved", h.Number, i.Deadline.Sub(h.Allowed), c.reserve(i))
		case f.RecordTimeout > 0 && h.Allowed.Sub(h.Started.At) > f.RecordTimeout:
			c.violated(Limited, h.Started, "message %d is given %v, the record timeout is %v", h.Number, h.Allowed.Sub(h.Started.At), f.RecordTimeout)
		}
		end := h.Allowed // it may be given up after that
		if h.Ended.Came() && h.Ended.At.Before(end) {
			end = h.Ended.At
		}
		if i.Killed.Came() && i.Killed.At.Before(end) {
			end = i.Killed.At
		}
		running[i] = append(running[i], span{h.Started.At, end})
		process := [2]int{i.Function, i.Environment}
		together[process] = append(together[process], span{h.Started.At, end})
	}
	for i, list := range running {
		limit := c.Plan.Functions[i.Function].concurrency()
		if n, at := most(list); n > limit {
			c.violated(WithinCapacity, Moment{At: at}, "invocation %d handles %d at a time, its Concurrency is %d", i.Number, n, limit)
		}
	}
	for process, list := range together {
		limit := c.Plan.Functions[process[0]].MaxHandlers
		if n, at := most(list); limit > 0 && n > limit {
			c.violated(WithinCapacity, Moment{At: at}, "the invocations of environment %d handle %d at a time, MaxHandlers is %d", process[1], n, limit)
		}
	}
	for _, i := range c.Invocations {
		c.graces(i)
	}
}

// graces: Limited. A handler that ignores its deadline has its grace, unless the
// batch ends before.
func (c *checker) graces(i *Invocation) {
	grace := cmp.Or(c.Plan.Functions[i.Function].Grace, time.Second)
	for _, o := range i.Results {
		d := c.deliveries[o.Receipt]
		if o.Outcome != batch.Abandoned || d == nil || len(d.handlings) == 0 {
			continue
		}
		due := d.handlings[0].Allowed.Add(grace)
		if due.Before(c.before(i, c.reserve(i))) && o.FailedAt.Before(due) {
			c.violated(Limited, i.Answered, "%v was given up %v after its deadline, the grace is %v", d.story, o.FailedAt.Sub(d.handlings[0].Allowed), grace)
		}
	}
}
