package sender_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
)

func TestSend_ReturnsWhenTheMessageIsInTheQueue(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(20 * time.Millisecond)
		s := w.sender(sender.Config{})
		began := time.Now()
		w.send(s, sender.Text("hello"))
		w.wantBodies("hello")
		w.wantTook(began, 20*time.Millisecond) // the call: there was nothing to linger for
	})
}

func TestEnqueue_FullCallsGoAtOnceAndTheRestAfterLinger(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{Linger: 50 * time.Millisecond})
		for i := range 26 {
			w.enqueue(s, sender.Text(fmt.Sprint(i)), nil)
		}
		began := time.Now()
		w.flush(s)
		var at []string
		for _, c := range w.server.Calls("SendMessageBatch") {
			at = append(at, fmt.Sprint(c.Messages, " at ", c.Began.Sub(began)))
		}
		slices.Sort(at)
		// The first message came after a pause. Flush ends the linger of the last five.
		if want := []string{"1 at 0s", "10 at 0s", "10 at 0s", "5 at 0s"}; !slices.Equal(at, want) {
			w.Errorf("calls %q, want %q", at, want)
		}
	})
}

func TestEnqueue_LingerBeginsWithTheFirstMessage(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: 50 * time.Millisecond})
		w.enqueue(s, sender.Text("alone"), nil)
		began := time.Now()
		for i := range 4 {
			time.Sleep(15 * time.Millisecond)
			w.enqueue(s, sender.Text(fmt.Sprint(i)), nil)
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		w.wantCalls(1, 4)
		if at := w.server.Calls("SendMessageBatch")[1].Began.Sub(began); at != 65*time.Millisecond {
			w.Errorf("the second call began after %v, want 50 ms after its first message, which came after 15 ms", at)
		}
	})
}

// While a call is in flight, a message lingers even if it comes after a pause.
func TestEnqueue_LingersWhileACallIsInFlight(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{Linger: 50 * time.Millisecond})
		for i := range 3 {
			w.enqueue(s, sender.Text(fmt.Sprint(i)), nil)
			time.Sleep(60 * time.Millisecond / time.Duration(i+1))
		}
		w.flush(s)
		w.wantCalls(1, 2)
	})
}

func TestCalls_HaveAtMostOneMebibyteWithAttributes(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		var calls []sender.Call
		s := w.sender(sender.Config{OnCall: func(c sender.Call) { calls = append(calls, c) }, Concurrency: 1})
		large := sender.Text(strings.Repeat("b", 1<<20/4))
		large.Attributes = map[string]batch.MessageAttribute{"padding": {DataType: "String", StringValue: strings.Repeat("a", 1<<20/8)}}
		for range 6 {
			w.enqueue(s, large, nil)
		}
		w.enqueue(s, sender.Text("small"), nil) // fits into a call with two large ones
		w.flush(s)
		w.wantSent(7)
		for _, c := range calls {
			if c.Bytes > 1<<20 || c.Failed > 0 {
				w.Errorf("a call of %d bytes, %d messages failed", c.Bytes, c.Failed)
			}
		}
		// One at once, then pairs. The small message does not wait behind those that do not fit.
		w.wantCalls(1, 3, 2, 1)
	})
}

func TestMessage_ArrivesWithAllThatItHas(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		m := sender.JSON(map[string]int{"n": 1})
		m.Attributes = map[string]batch.MessageAttribute{
			"text":   {DataType: "String.label", StringValue: "x"},
			"number": {DataType: "Number", StringValue: "1.5"},
			"bytes":  {DataType: "Binary", BinaryValue: []byte{0, 1}},
		}
		m.Group, m.TraceHeader, m.Delay = "tenant", "Root=1-5759e988-bd862e3fe1be46a994272793", 1500*time.Millisecond
		w.send(s, m)
		time.Sleep(2*time.Second - time.Millisecond)
		if got := w.received().Messages; len(got) != 0 {
			w.Fatal("the delay of 1.5 s, rounded up to 2 s, was over before")
		}
		time.Sleep(time.Millisecond)
		got := w.received().Messages[0]
		if *got.Body != `{"n":1}` || got.Attributes["MessageGroupId"] != "tenant" || got.Attributes["AWSTraceHeader"] != m.TraceHeader {
			w.Errorf("got body %s, system attributes %v", *got.Body, got.Attributes)
		}
		a := got.MessageAttributes
		if *a["text"].StringValue != "x" || *a["text"].DataType != "String.label" || *a["number"].StringValue != "1.5" || string(a["bytes"].BinaryValue) != "\x00\x01" {
			w.Errorf("got attributes %v", a)
		}
	})
}

func TestQueue_IsANameAURLOrAnARN(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.inject(sqsFaultGetQueueURL)
		for _, queue := range []string{"orders", w.server.QueueURL("orders"), w.server.QueueARN("orders")} {
			s := w.sender(sender.Config{Queue: queue})
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					if err := s.Send(w.Context(), sender.Text("x")); err != nil {
						w.Errorf("%s: %v", queue, err)
					}
				})
			}
			all.Wait()
		}
		if n := len(w.server.Calls("GetQueueUrl")); n != 2 { // the first one fails
			w.Errorf("GetQueueUrl was called %d times, want 2", n)
		}
	})
}

func TestOnCall_DescribesTheCall(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(20 * time.Millisecond)
		w.inject(sqsFaultOneEntry)
		var mu sync.Mutex
		var calls []sender.Call
		s := w.sender(sender.Config{Linger: 10 * time.Millisecond, OnCall: func(c sender.Call) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, c)
		}})
		w.enqueue(s, sender.Text("first"), nil) // it goes at once; its entry fails
		w.enqueue(s, sender.Text("second"), nil)
		if left := s.Close(context.Background()); left != nil {
			w.Errorf("left: %v", left)
		}
		if len(calls) != 3 {
			w.Fatalf("%d calls, want 3: %+v", len(calls), calls)
		}
		a, b, c := calls[0], calls[1], calls[2]
		if a.Bytes > b.Bytes { // they end at the same time
			a, b = b, a
		}
		if a.Entries != 1 || a.Bytes != 5 || a.Retried != 0 || a.Duration != 20*time.Millisecond || a.Waited != 0 || a.URL != w.server.QueueURL("orders") {
			w.Errorf("the call of the first message: %+v", a)
		}
		if a.Failed+b.Failed != 1 || a.Err != nil || b.Err != nil || c.Retried != 1 || c.Failed != 0 || c.Waited < 70*time.Millisecond {
			w.Errorf("%+v, %+v, and the retry %+v", a, b, c)
		}
	})
}

// A sender that is not closed has no goroutines while it has nothing to do, also if the
// function of a message is still running.
func TestIdleSender_HasNoGoroutines(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(10 * time.Millisecond)
		s := w.sender(sender.Config{})
		for range 3 {
			for i := range 1000 {
				w.enqueue(s, numbered(i), nil)
			}
			w.flush(s)
			w.requireWorkers(0)
		}
		time.Sleep(time.Second)
		w.enqueue(s, sender.Text("at once"), nil)
		time.Sleep(time.Millisecond)
		release := make(chan bool)
		for range 10 { // its call ends after that of the first
			w.enqueue(s, sender.Text("x"), func(sender.Result) { <-release })
		}
		time.Sleep(time.Minute)
		w.requireWorkers(1) // that reports the results
		close(release)
		w.flush(s)
		w.requireWorkers(0)
	})
}

// requireWorkers checks how many goroutines the sender has.
func (w *world) requireWorkers(want int) {
	w.Helper()
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if got := bytes.Count(stacks, []byte("created by github.com/sqsbatch/sqsbatch/sender.")); got != want {
		w.Errorf("%d goroutines, want %d", got, want)
	}
}
