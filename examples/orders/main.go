// Command orders is the function that template.yaml deploys: it ships one
// order per SQS record.
//
// An order is a message such as {"id":"o-1","sku":"ok","quantity":1}. order.go
// is the business logic, as a function of one order that knows nothing of SQS
// but the words in which it answers; warehouse.go stands in for the system
// behind it, and shows every outcome a record can have:
//
//	go run ./cmd/sqsbatch local
package main

import (
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

func main() {
	handler.RunWith(batch.JSON(shipFrom(memoryWarehouse{})), handler.Config{
		// Metrics, as lines of the log: what the dashboard and alarms of deploy/monitoring.yaml show.
		Hooks: emf.New(emf.Config{Service: "orders"}).Hooks(),
	})
}
