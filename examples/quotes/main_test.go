package main

import (
	"errors"
	"flag"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

var update = flag.Bool("update", false, "write the files into docs/request-response.md")

// The page shows the two programs as they are. After a change:
//
//	go test ./examples/quotes -run TestThePageShowsThePrograms -update
func TestThePageShowsThePrograms(t *testing.T) {
	docpage.RequireFiles(t, "../../docs/request-response.md", *update)
}

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
