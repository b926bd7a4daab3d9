package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// Messages through a queue, Lambda's event source mapping and the function, in
// virtual time: retries that would take minutes take none.
func TestThroughAQueue(t *testing.T) {
	sqstest.Run(t, batch.JSON(welcome(demoMailer{})), func(t *testing.T, q *sqstest.Queue) {
		q.Send(`{"email":"ann@example.com"}`, `{"email":"later@example.com"}`, `{"email":"nobody@example.com"}`, `{"email":`)
		q.UntilIdle()
		q.Want("succeeded", "retry, succeeded", "dead-letter", "dead-letter")
	})
}
