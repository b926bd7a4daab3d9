// Command hostile logs and returns the body that it gets, decoded.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		var text string
		_ = json.Unmarshal([]byte(r.Body), &text) // or it is not JSON
		fmt.Println(text + r.Body)
		fmt.Fprintln(os.Stderr, text+r.Body)
		return errors.New(text + r.Body)
	}))
}
