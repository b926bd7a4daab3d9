package fanout_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/fanout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is what a listener was given, a batch in brackets.
type heard struct{ strings.Builder }

func (h *heard) handle(batch []int, lost int) {
	fmt.Fprint(h, batch)
	if lost > 0 {
		fmt.Fprintf(h, " %d lost ", lost)
	}
}

func (h *heard) want(t *testing.T, want string) {
	t.Helper()
	if got := strings.TrimSpace(h.String()); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

func TestSend_GivesEachListenerEveryEventInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fanout.Fanout[int]
		var first, second heard
		f.Send(0) // before anyone listens
		stopFirst := f.Listen(2, first.handle)
		f.Send(1)
		synctest.Wait()
		stopSecond := f.Listen(2, second.handle)
		f.Send(2)
		synctest.Wait()
		stopFirst(time.Minute)
		stopFirst(time.Minute)
		f.Send(3)
		stopSecond(time.Minute) // waits for what was sent before
		f.Send(4)
		first.want(t, "[1][2]")
		second.want(t, "[2][3]")
	})
}

func TestSend_DoesNotWaitForASlowListenerWhichHearsWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fanout.Fanout[int]
		var slow, quick heard
		stopSlow := f.Listen(2, func(batch []int, lost int) {
			slow.handle(batch, lost)
			time.Sleep(time.Second)
		})
		stopQuick := f.Listen(2, quick.handle)
		began := time.Now()
		for i := range 7 {
			f.Send(i)
			synctest.Wait()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("sending took %v", took)
		}
		time.Sleep(1500 * time.Millisecond)
		f.Send(7)
		stopSlow(time.Minute)
		stopQuick(time.Minute)
		slow.want(t, "[0][1 2] 4 lost [7]")
		quick.want(t, "[0][1][2][3][4][5][6][7]")
	})
}

func TestStop_WaitsNoLongerThanItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fanout.Fanout[int]
		release := make(chan struct{})
		stop := f.Listen(2, func([]int, int) { <-release })
		f.Send(1)
		began := time.Now()
		stop(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		close(release)
	})
}
