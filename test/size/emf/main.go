// Command emf is a function with telemetry/emf, see test/size.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

func main() {
	handler.RunWith(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
		handler.Config{Hooks: []any{emf.New(emf.Options{})}})
}
