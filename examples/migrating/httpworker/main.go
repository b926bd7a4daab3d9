// Command httpworker shows the result of moving a worker of AWS Elastic Beanstalk's worker
// tier to sqsbatch.
package main

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

var (
	consumer = httpworker.New(http.HandlerFunc(work), httpworker.Config{})
	config   = handler.Config{Classify: httpstatus.Classify} // a 4xx is a dead letter; without, it is tried again as there
)

// main had http.ListenAndServe, and the daemon posted to it.
func main() { handler.RunWith(consumer, config) }

func work(w http.ResponseWriter, r *http.Request) {
	var order struct{ ID, SKU string }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, "no order", http.StatusBadRequest)
		return
	}
	if order.SKU == "unknown" {
		http.Error(w, "no such article", http.StatusUnprocessableEntity)
		return
	}
	slog.InfoContext(r.Context(), "shipped", "order", order.ID, "queue", r.Header.Get("X-Aws-Sqsd-Queue"), "priority", r.Header.Get("X-Aws-Sqsd-Attr-Priority"))
}
