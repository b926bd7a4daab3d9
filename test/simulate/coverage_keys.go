package simulate

import (
	"slices"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// expectKeys expects each fault of each call to the idempotency store, in both modes.
func (c Coverage) expectKeys() {
	for _, mode := range []string{"", "poll "} {
		for _, operation := range storeOperations {
			expect(c, mode+"store fault: %s of "+operation, storeFaultKinds...)
		}
		expect(c, mode+"idempotency: %s", "function", "copy", "copy of another queue", "copy in its group", "work", "work is taken over",
			"completion by one who lost the claim", "claim is renewed", "handler loses its claim", "permanent failure is kept", "record waits at its last attempt")
	}
}

// keys counts what was tried of package idempotency.
func (c Coverage) keys(h *checker) {
	mode := ""
	if h.Plan.Polls() {
		mode = "poll "
	}
	is := func(what string, is bool) { c.config(mode+"idempotency", is, what) }
	for _, f := range h.Plan.Functions {
		is("function", f.Guard.On)
	}
	for _, m := range h.Plan.Messages {
		if m.Key == 0 {
			continue
		}
		of := h.Plan.message(m.Key - 1)
		is("copy", true)
		is("copy of another queue", m.Queue != of.Queue)
		is("copy in its group", m.Queue == of.Queue && m.Group != "" && m.Group == of.Group)
	}
	for k, t := range h.Tasks {
		is("work", true)
		is("handler loses its claim", t.Handling.TakenOver)
		is("permanent failure is kept", t.End == ForGood && h.deliveries[t.Receipt].function.Guard.KeepPermanent)
		is("work is taken over", slices.ContainsFunc(h.Tasks[:k], func(before *Task) bool {
			return before.Key == t.Key && (!before.Ended.Came() || t.Started.Before(before.Ended))
		}))
	}
	claims := map[string]int{} // by receipt handle
	for _, call := range h.StoreCalls {
		if call.Struck != "" {
			c[mode+"store fault: "+string(call.Struck)+" of "+call.Operation]++
		}
		is("completion by one who lost the claim", call.Operation == "Complete" && call.Refusal != nil)
		is("claim is renewed", call.Operation == "Renew" && call.Done.Came() && call.Refusal == nil)
		if call.Operation == "Claim" && call.State == idempotency.InProgress {
			claims[call.Receipt]++
			is("record waits at its last attempt", claims[call.Receipt] == 2)
		}
	}
}
