package reply

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/sender"
)

// Requests that name ever other queues cost no scan and no memory, and take no sender away from
// a request that is being answered.
func TestManyReplyQueues_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outbound
		made := 0
		open := func() (*sender.Sender, error) { made++; return &sender.Sender{}, nil }
		take := func(queue string) *outboundQueue {
			q, err := o.acquire(queue, open)
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		used := take("used")
		for i := range 40_000 {
			o.release(take(fmt.Sprint("q-", i)))
			o.release(take("busy"))
			if len(o.of) > mostUnused+1 || o.unused.Len() != len(o.of)-1 {
				t.Fatalf("%d senders, %d unused, after %d queues", len(o.of), o.unused.Len(), i)
			}
		}
		if made != 40_002 || take("used") != used {
			t.Errorf("made %d senders, want one for each queue", made)
		}
		o.release(used)
		time.Sleep(idle + time.Second)
		o.release(used)
		if len(o.of) != 1 {
			t.Errorf("%d senders are left after %v without use", len(o.of), idle)
		}
	})
}
