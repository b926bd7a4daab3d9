package main

import (
	"time"

	"github.com/sqsbatch/sqsbatch/handler"
)

// polling is for handler.RunWith(loop, polling), in a container. The queue is named by
// SQSBATCH_QUEUE_URL. Without it, and on Lambda, this is a function of Lambda.
var polling = handler.Config{
	Concurrency:   20,              // what bounded the goroutines
	RecordTimeout: 5 * time.Minute, // what an order may take; the queue's visibility timeout no longer matters
}
