// Command migrating has functions of common shapes as they stand after moving to sqsbatch. The
// pages of docs/migrating show its files, with what they were before. EXAMPLE chooses a
// function:
//
//	go run ./cmd/sqsbatch local --once --env EXAMPLE=loop --event events/malformed.json ./examples/migrating
package main

import (
	"log"
	"os"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var examples = map[string]struct {
	function batch.Handler
	config   handler.Config
}{
	"loop":        {function: loop},
	"other":       {loop, withSchedule},
	"poll":        {loop, polling},
	"bulk":        {function: intoDatabase},
	"retries":     {withCarrier, carrierConfig},
	"http":        {overHTTP, statuses},
	"types":       {function: byField},
	"by-format":   {function: byFormat},
	"sns":         {function: fromTopic},
	"s3":          {function: notifications},
	"eventbridge": {function: placed},
	"payloads":    {function: unpacked},
	"gocloud":     {function: subscription},
	"watermill":   {routed, routedConfig},
}

func main() {
	e, ok := examples[os.Getenv("EXAMPLE")]
	if !ok {
		log.Fatalf("EXAMPLE is %q, must be the name of an example", os.Getenv("EXAMPLE"))
	}
	handler.RunWith(e.function, e.config)
}
