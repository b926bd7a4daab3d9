package checks_test

import (
	"context"
	"fmt"
	"regexp"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs/conformance/checks"
)

// Hold a server of your own to AWS's documentation; this one is the emulator.
func Example() {
	server := sqs.New(sqs.Config{})
	defer server.Close()
	results, err := checks.Run(context.Background(), checks.Config{
		Client: newClient(server, nil),
		Only:   regexp.MustCompile(`^deduplication/by-id$`),
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range results {
		fmt.Println(r.ID, r.Err == nil)
		fmt.Println(r.Must)
		fmt.Println(r.Page.Title)
	}
	// Output:
	// deduplication/by-id true
	// A second message with a deduplication id is accepted, and not delivered.
	// Developer guide, Exactly-once processing in Amazon SQS
}
