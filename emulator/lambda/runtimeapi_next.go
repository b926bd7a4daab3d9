package lambda

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

func (api *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	if !api.mayAsk() {
		forbidden(w, fmt.Sprintf("of %d invocations at a time, none was answered yet", api.fn.perEnvironment()))
		return
	}
	select {
	case api.ready <- struct{}{}:
	default:
	}
	inv := api.await(r)
	if inv == nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", api.fn.arn())
	h.Set("Lambda-Runtime-Trace-Id", inv.traceID)
	_, _ = w.Write(inv.payload) // a client that is gone shows as its process's end
}

// await waits for work and delivers it to r; nil when r's client is gone or
// the process is.
func (api *runtimeAPI) await(r *http.Request) *invocation {
	for {
		select {
		case inv := <-api.work:
			delivered, gone := api.deliver(r, inv)
			if gone {
				return nil
			}
			if delivered {
				return inv
			}
		case <-r.Context().Done():
			return nil
		case <-api.closed:
			return nil
		}
	}
}

// mayAsk reports whether the runtime may have another invocation. A request for one means
// that the answered ones are over.
func (api *runtimeAPI) mayAsk() bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	unanswered := 0
	for _, inv := range api.invocations {
		if !inv.isClaimed() {
			unanswered++
		}
	}
	if unanswered >= api.fn.perEnvironment() {
		return false
	}
	maps.DeleteFunc(api.invocations, func(_ string, inv *invocation) bool { return inv.isClaimed() })
	api.asked = true
	return true
}

// deliver gives inv to the request, or takes it back if the request's client is gone: a
// runtime that drops its connection asks again. Abandoned invocations are dropped.
func (api *runtimeAPI) deliver(r *http.Request, inv *invocation) (delivered, gone bool) {
	api.mu.Lock()
	defer api.mu.Unlock()
	if r.Context().Err() != nil {
		inv.back <- struct{}{} // has room: it is offered again only when this was taken
		return false, true
	}
	if !inv.deliver(api.fn.Timeout) {
		return false, false
	}
	select { // a second request of the same wait may have left a token
	case <-api.ready:
	default:
	}
	api.invocations[inv.id] = inv
	return true, false
}
