// Command quotes answers requests for quotes, and sends one for each argument. docs/request-response.md explains it, and says
// how to try it.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/reply"
)

// Request asks for the price of a product.
type Request struct {
	Product string `json:"product"`
}

// Quote is the answer.
type Quote struct {
	Product string `json:"product"`
	Cents   int    `json:"cents"`
}

func main() {
	if len(os.Args) > 1 { // as the client
		askFor(os.Args[1:])
		return
	}
	handler.Run(reply.Handler(quote))
}

var prices = map[string]int{"A-17": 1999, "B-4": 450}

func quote(_ context.Context, r Request) (Quote, error) {
	cents, ok := prices[r.Product]
	if !ok {
		return Quote{}, batch.Permanent(errors.New("there is no such product"))
	}
	return Quote{r.Product, cents}, nil
}
