// Command bootstrap welcomes who has signed up: one message of the queue, one
// mail. Replace Signup by what your messages hold and welcome by what is to be
// done about one of them.
package main

import (
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

func main() {
	handler.RunWith(batch.JSON(welcome(demoMailer{})), handler.Config{
		// Metrics, as lines of the log: what the dashboard and alarms of deploy/monitoring.yaml show.
		Hooks: emf.New(emf.Config{}).Hooks(),
	})
}
