// Command classify is plain with classify/httpstatus and classify/awserr.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/awserr"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	handler.RunWith(h, handler.Config{Classify: batch.FirstOf(awserr.New(awserr.Options{}), httpstatus.Classify)})
}
