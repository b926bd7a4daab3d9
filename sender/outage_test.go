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

const (
	outageBody  = 4 << 10
	outageBytes = 1 << 20 // 256 messages
)

// SQS is down for 20 minutes, and producers go on. The buffer keeps to its limits in messages
// and bytes, and the process does not grow: neither by what is retried, nor by callers that
// come and go. Then all that was accepted is sent.
func TestOutage_KeepsMemoryWithinItsLimits(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Throttled, sqs.Hang} {
		t.Run(string(kind)+", a limit of messages", func(t *testing.T) {
			inWorldWith(t, sqs.Config{History: -1}, false, func(w *world) { outage(w, kind, false, 200) })
		})
		t.Run(string(kind)+", a limit of bytes, FIFO", func(t *testing.T) {
			inWorldWith(t, sqs.Config{History: -1}, true, func(w *world) { outage(w, kind, true, 1000) })
		})
	}
}

func outage(w *world, kind sqs.FaultKind, fifo bool, most int) {
	w.inject(sqs.Fault{Kind: kind, Operation: "SendMessageBatch"})
	o := &outageLoad{s: w.sender(sender.Config{MaxBuffered: most, MaxBufferedBytes: outageBytes, CallTimeout: time.Second})}
	ctx, cancel := context.WithCancel(w.Context())
	for p := range 8 {
		o.producers.Go(func() { o.enqueue(ctx, p) })
		o.producers.Go(func() { o.send(ctx, p) })
	}
	time.Sleep(2 * time.Minute)
	atFirst := heap()
	time.Sleep(20 * time.Minute)
	if after := heap(); after > atFirst+outageBytes/2 {
		w.Errorf("the heap has grown from %d to %d KiB in 20 minutes", atFirst>>10, after>>10)
	}
	if n := runtime.NumGoroutine(); n > 200 {
		w.Errorf("%d goroutines", n)
	}
	accepted := o.requireLimits(w, min(most, outageBytes/outageBody))
	cancel() // those that wait for a place
	w.server.ClearFaults()
	o.producers.Wait()
	w.flush(o.s)
	o.mu.Lock()
	defer o.mu.Unlock()
	// On a FIFO queue a message that hung may be too late, and those behind it fail.
	if o.confirmed+o.failed < accepted || o.failed > 0 && (!fifo || kind != sqs.Hang) {
		w.Errorf("of %d messages that Enqueue accepted in the outage %d were confirmed, %d failed", accepted, o.confirmed, o.failed)
	}
}

// outageLoad is what producers do while SQS is down.
type outageLoad struct {
	s         *sender.Sender
	producers sync.WaitGroup

	mu                          sync.Mutex
	accepted, confirmed, failed int // by Enqueue
	most                        int // without a result at a time
}

func (o *outageLoad) message(p int) sender.Message {
	return sender.Message{Body: strings.Repeat("b", outageBody), Group: fmt.Sprint("group-", p)}
}

// enqueue puts messages into the buffer until ctx ends.
func (o *outageLoad) enqueue(ctx context.Context, p int) {
	for o.s.Enqueue(ctx, o.message(p), o.tell) == nil {
		o.mu.Lock()
		o.accepted++
		o.most = max(o.most, o.accepted-o.confirmed-o.failed)
		o.mu.Unlock()
	}
}

func (o *outageLoad) tell(r sender.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Err == nil {
		o.confirmed++
	} else {
		o.failed++
	}
}

// send sends messages that its callers wait for only 5 s, one after another.
func (o *outageLoad) send(ctx context.Context, p int) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		_ = o.s.Send(limited, o.message(p+8))
		cancel()
	}
}

func (o *outageLoad) requireLimits(w *world, most int) (accepted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most > most || o.most < most-8 { // up to 8 are those of Send
		w.Errorf("%d messages were in the buffer at a time, want up to %d", o.most, most)
	}
	return o.accepted
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools still had
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
