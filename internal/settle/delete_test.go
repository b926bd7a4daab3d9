package settle_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestDeleteIfOthersFail_DeletesOnlyIfARecordFailed(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.DeleteIfOthersFail = true
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

// With DeleteIfOthersFail the function fails and keeps what is not deleted: a
// record that is in the dead-letter queue comes back, and must say so.
func TestNoTimeToDeleteDeadLetter_ResultSaysSo(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.DeleteIfOthersFail = true
		f.timeout = 10 * time.Second
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == "ChangeMessageVisibilityBatch" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, nil
		}
		f.Send("never", "fail")
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			time.Sleep(8 * time.Second)
			return byBody(ctx, r)
		})
		if got, want := fmt.Sprint(outcomes(results)), "map[fail:retry never:dead-letter]"; got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		for _, r := range results {
			late := r.DeleteErr != nil && strings.Contains(r.DeleteErr.Error(), "no time left")
			if want := r.Outcome == batch.DeadLettered; r.Deleted || late != want {
				t.Errorf("%s: deleted %v, DeleteErr %v", r.Record.Body, r.Deleted, r.DeleteErr)
			}
		}
		f.warnedOnce("there was no time left", "will be delivered again")
	})
}
