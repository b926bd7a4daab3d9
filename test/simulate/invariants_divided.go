package simulate

import (
	"slices"
	"time"
)

// refusedWhole reports whether a call was refused as a whole that could succeed in parts.
func (c *Call) refusedWhole() bool { return c.Broken.whole() && len(c.Entries) > 1 }

// cleanBut reports whether calls were answered well, but for those that were refused
// as a whole, though not for an entry about a delivery alone.
func cleanBut(calls []*Call, receipt string) bool {
	return !slices.ContainsFunc(calls, func(c *Call) bool {
		of := Entry{Receipt: receipt}
		return !c.clean() && !(c.Broken.whole() && (len(c.Entries) > 1 || !c.Entries[0].same(of)))
	})
}

// same reports whether two entries are about one message.
func (e Entry) same(other Entry) bool { return e.Receipt == other.Receipt && e.Body == other.Body }

// divided: Divided, of both modes. Nothing else is wrong with SQS, and there is time.
func (c *checker) divided() {
	for _, i := range c.Invocations {
		if !i.Killed.Came() && i.Answered.Came() && i.Answered.At.Before(c.settleBy(i)) {
			c.dividedOf(i.Calls, i.Answered.At)
		}
	}
	for _, p := range c.Processes {
		if !p.Killed.Came() && p.Err == nil && p.Stopping.Came() {
			c.dividedOf(p.Calls, p.Stopping.At)
		}
	}
}

func (c *checker) dividedOf(calls []*Call, until time.Time) {
	if slices.ContainsFunc(calls, func(c *Call) bool { return !c.clean() && !c.Broken.whole() }) {
		return
	}
	for k, call := range calls {
		if !call.refusedWhole() || !call.Ended.At.Before(until) {
			continue
		}
		for _, e := range call.Entries {
			if !slices.ContainsFunc(calls[k+1:], func(later *Call) bool {
				return (e.Body == "" || later.Operation == call.Operation) && slices.ContainsFunc(later.Entries, e.same)
			}) {
				c.violated(Divided, call.Ended, "%s was refused for %d entries, and one of them is tried no more", call.Operation, len(call.Entries))
			}
		}
	}
}
