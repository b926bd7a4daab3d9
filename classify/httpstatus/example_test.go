package httpstatus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// A function checks the response and returns what that says; whether a retry
// may help is Classify's to say, which handler.Config.Classify takes.
func Example() {
	carrier := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/o-2":
			http.Error(w, "no such order", http.StatusNotFound)
		case "/o-3":
			w.Header().Set("Retry-After", "30")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}
	}))
	defer carrier.Close()

	ship := batch.Text(func(ctx context.Context, id string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, carrier.URL+"/"+id, nil)
		if err != nil {
			return err
		}
		response, err := carrier.Client().Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		return httpstatus.Check(response)
	})
	for _, id := range []string{"o-1", "o-2", "o-3"} {
		err := httpstatus.Classify(ship.Handle(context.Background(), batch.Record{Body: id}))
		v := batch.VerdictOf(err)
		var e *httpstatus.Error
		if errors.As(err, &e) {
			fmt.Println(e.Status, "permanent:", v.Permanent, "retry after:", v.After)
		}
	}
	// Output:
	// 404 permanent: true retry after: 0s
	// 429 permanent: false retry after: 30s
}

// Some clients keep the status in a field. A classifier of one's own tells it.
func ExampleError() {
	type apiError struct { // the client's
		error
		Code   int
		Header http.Header
	}
	classify := func(err error) error {
		var e apiError
		if errors.As(err, &e) {
			return httpstatus.Classify(&httpstatus.Error{Status: e.Code, RetryAfter: httpstatus.RetryAfter(e.Header), Err: err})
		}
		return httpstatus.Classify(err)
	}
	busy := http.Header{"Retry-After": {"120"}}
	err := classify(fmt.Errorf("ship: %w", apiError{errors.New("quota"), 403, busy}))
	fmt.Println(err, batch.VerdictOf(err).After == 2*time.Minute)
	fmt.Println(batch.VerdictOf(classify(apiError{errors.New("no such order"), 404, nil})).Permanent)
	// Output:
	// status 403 Forbidden, retry after 2m0s: ship: quota true
	// true
}
