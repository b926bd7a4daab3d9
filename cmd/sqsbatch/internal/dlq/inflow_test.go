package dlq_test

import (
	"fmt"
	"testing"
	"time"
)

// A command ends although messages keep arriving as fast as they are received.
func TestLooksAndReplays_EndWhileMessagesArrive(t *testing.T) {
	virtual(t, func(b *bench) {
		for i := range 25 {
			b.buried("orders-dead", "", fmt.Sprint("old ", i), "x", "orders")
		}
		stop := make(chan struct{})
		sent := make(chan int)
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					sent <- n
					return
				case <-time.After(50 * time.Millisecond):
					b.buried("orders-dead", "", fmt.Sprint("new ", n), "x", "orders")
				}
			}
		}()
		for _, args := range [][]string{{"stats", "orders-dead"}, {"export", "orders-dead"}, {"replay", "orders-dead", "--by", "send", "--yes"}} {
			if r := b.must(0, args...); r.elapsed > 30*time.Second {
				t.Errorf("%q took %s", args, r.elapsed)
			}
		}
		close(stop)
		n := <-sent
		if replayed := len(b.drain("orders")); replayed < 25 {
			t.Errorf("%d were replayed, want at least 25", replayed)
		} else if left := len(b.drain("orders-dead")); replayed+left != 25+n {
			t.Errorf("%d were replayed and %d are left of %d", replayed, left, 25+n)
		}
	})
}
