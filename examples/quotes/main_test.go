package main

import (
	"errors"
	"testing"

	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

func TestQuotes(t *testing.T) {
	sqstest.Run(t, reply.Handler(quote), func(t *testing.T, q *sqstest.Queue) {
		q.Start()
		c, err := reply.NewClient(q.Client, reply.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if got, err := reply.Call[Quote](t.Context(), c, q.URL, Request{"B-4"}); err != nil || got.Cents != 450 {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = reply.Call[Quote](t.Context(), c, q.URL, Request{"X-9"})
		if e, ok := errors.AsType[*reply.Error](err); !ok || !e.Permanent || e.Text != "there is no such product" {
			t.Error(err)
		}
	})
}
