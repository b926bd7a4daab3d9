package main

import (
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

// byAttribute is the consumer for senders that put the type into a message
// attribute. The body is the order or the cancellation itself.
var byAttribute = router.New(router.Attribute("type"), router.Routes{
	"order.placed":    batch.JSON(ship),
	"order.cancelled": batch.JSON(refund),
})
