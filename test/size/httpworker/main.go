// Command httpworker is plain with middleware/httpworker.
package main

import (
	"net/http"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

func main() {
	handler.Run(httpworker.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), httpworker.Options{}))
}
