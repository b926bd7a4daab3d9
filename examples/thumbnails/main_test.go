package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

func TestMakeThumbnail(t *testing.T) {
	sqstest.Run(t, batch.JSON(makeThumbnail), func(t *testing.T, q *sqstest.Queue) {
		q.Send(
			`{"key":"cat.jpg","width":64}`,
			`{"key":"busy.jpg","width":64}`,
			`{"key":"notes.txt","width":64}`,
			`{"key":"cat.jpg","width":6}`,
		)
		q.UntilIdle()
		q.Want("succeeded", "retry, succeeded", "dead-letter", "dead-letter")
	})
}
