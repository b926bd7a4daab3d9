// Command emf is plain with telemetry/emf.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	handler.RunWith(h, handler.Config{Hooks: []any{emf.New(emf.Options{})}})
}
