// Command sns is plain with envelope/sns.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(sns.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })))
}
