package batch

import (
	"context"
	"fmt"
)

// FlushHook keeps something back, to write or send it later. Flush is called
// when there may be no later: package handler calls it at the end of each
// invocation on Lambda, which freezes the process then, after BatchSettled and
// for 2 s at most; and in a container at the end of Poll, for up to 5 s. It
// should return when ctx ends, and is not waited for any longer.
//
// Whoever uses a longpoll.Poller without package handler calls
// it by [Hooks.Flush], or by itself.
type FlushHook interface {
	Flush(ctx context.Context)
}

// Flushes reports whether a hook keeps something back.
func (h *Hooks) Flushes() bool { return h != nil && len(h.flush) > 0 }

// Flush has the hooks write what they keep back, side by side, and returns when
// they have, or when ctx ends.
func (h *Hooks) Flush(ctx context.Context) {
	if !h.Flushes() {
		return
	}
	done := make(chan struct{}, len(h.flush))
	for i := range h.flush {
		go func() {
			defer func() { done <- struct{}{} }()
			each(ctx, h, "", h.flush[i:i+1], func(hook FlushHook) { hook.Flush(ctx) })
		}()
	}
	for range h.flush {
		select {
		case <-done:
		case <-ctx.Done():
			select {
			case <-done: // at the same moment
				continue
			default:
			}
			h.Warn(ctx, Warning{Message: fmt.Sprintf("a Flush hook is not waited for any longer: %v", context.Cause(ctx))})
			return
		}
	}
}
