package partialfailure_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestRule11DeleteIfOthersFailDeletesWhatSucceededWhenOthersFailed(t *testing.T) {
	inBubble(t, false, func(f *fixture) {
		f.settling.Delete = partialfailure.DeleteIfOthersFail
		f.Send("1:ok", "2:ok", "never")
		f.invoke(f.Receive(10), func(context.Context, batch.Record) error { return nil })
		if n := len(f.Events(sqs.Deleted)); n != 0 {
			t.Errorf("%d deleted although Lambda deletes a batch without failures", n)
		}
		time.Sleep(testqueue.Visibility)
		f.Send("fail")
		results := f.invoke(f.Receive(10), byBody)
		if got, want := fmt.Sprint(outcomes(results)), "map[1:ok:succeeded 2:ok:succeeded fail:retry never:dead-letter]"; got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		var deleted []string
		for _, e := range f.Events(sqs.Deleted) {
			deleted = append(deleted, e.Body)
		}
		slices.Sort(deleted)
		if want := []string{"1:ok", "2:ok", "never"}; !slices.Equal(deleted, want) {
			t.Errorf("deleted %v, want %v", deleted, want)
		}
	})
}
