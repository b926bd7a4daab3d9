package sender_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

// SQS is down for 20 minutes, and producers go on. The process does not grow: neither by what is
// retried, nor by callers that come and go. TestHistories has the limits of the buffer.
func TestOutage_KeepsMemoryWithinItsLimits(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Throttled, sqs.Hang} {
		t.Run(string(kind), func(t *testing.T) {
			inWorldWith(t, sqs.Config{History: -1}, kind == sqs.Throttled, func(w *world) {
				w.inject(sqs.Fault{Kind: kind, Operation: "SendMessageBatch"})
				const most = 1 << 20 // bytes: 256 messages
				s := w.sender(sender.Config{MaxBufferedBytes: most, CallTimeout: time.Second})
				ctx, cancel := context.WithCancel(w.Context())
				var producers sync.WaitGroup
				for p := range 8 {
					m := sender.Message{Body: strings.Repeat("b", 4<<10), Group: fmt.Sprint("group-", p)}
					producers.Go(func() {
						for s.Enqueue(ctx, m, nil) == nil {
						}
					})
					producers.Go(func() { // its callers wait for 5 s
						for ctx.Err() == nil {
							limited, cancel := context.WithTimeout(ctx, 5*time.Second)
							_ = s.Send(limited, m)
							cancel()
						}
					})
				}
				time.Sleep(2 * time.Minute)
				atFirst := heap()
				time.Sleep(20 * time.Minute)
				if after := heap(); after > atFirst+most/2 {
					w.Errorf("the heap has grown from %d to %d KiB in 20 minutes", atFirst>>10, after>>10)
				}
				if n := runtime.NumGoroutine(); n > 200 {
					w.Errorf("%d goroutines", n)
				}
				cancel()
				w.server.ClearFaults()
				producers.Wait()
				w.flush(s)
			})
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools still had
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
