package httpworker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
)

// work is a worker as Elastic Beanstalk has it.
func work(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Printf("%s of %s for tenant %s\n", body, r.Header.Get("X-Aws-Sqsd-Queue"), r.Header.Get("X-Aws-Sqsd-Attr-Tenant"))
	if string(body) == "o-2" {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "no stock", http.StatusServiceUnavailable)
	}
}

func record(id string) batch.Record {
	return batch.Record{
		Body: id, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders",
		MessageAttributes: map[string]batch.MessageAttribute{"tenant": {DataType: "String", StringValue: "7"}},
	}
}

// The worker's code stays as it is; main becomes handler.Run(httpworker.New(…)).
func ExampleNew() {
	h := httpworker.New(http.HandlerFunc(work), httpworker.Config{})
	fmt.Println(h.Handle(context.Background(), record("o-1")))
	fmt.Println(h.Handle(context.Background(), record("o-2")))
	// Output:
	// o-1 of orders for tenant 7
	// <nil>
	// o-2 of orders for tenant 7
	// POST /: status 503 Service Unavailable, retry after 30s
}

// A worker in a process of its own stays there.
func ExamplePost() {
	worker := httptest.NewServer(http.HandlerFunc(work))
	defer worker.Close()
	h, err := httpworker.Post(worker.URL+"/jobs", nil, httpworker.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Handle(context.Background(), record("o-1")))
	// Output:
	// o-1 of orders for tenant 7
	// <nil>
}
