package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// A report of 20 pages takes 20 minutes, and is stopped in the middle by a deployment. It
// passes in milliseconds: the time is synctest's, the queue emulator/sqs.
func TestADeploymentInTheMiddleOfAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		q.Send(`{"id":"r-1","pages":20}`)
		start := func() (stop func()) { // stop stands for SIGTERM
			return q.StartPoll(batch.JSON(makeReport), handler.Config{RecordTimeout: 30 * time.Minute})
		}
		old := start()
		time.Sleep(10 * time.Minute)
		began := time.Now()
		old()
		// It was given 24 s to finish, then cancelled and made visible at once.
		if took := time.Since(began); took < 24*time.Second || took > 25*time.Second {
			t.Errorf("the stop took %v", took)
		}
		stop := start()
		time.Sleep(21 * time.Minute)
		if deleted := q.Events(sqs.Deleted); len(deleted) != 1 || deleted[0].ReceiveCount != 2 {
			t.Errorf("deleted: %+v", deleted)
		}
		stop()
	})
}
