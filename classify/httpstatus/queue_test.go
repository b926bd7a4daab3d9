package httpstatus_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// api answers with the status that is the path, and Retry-After of the query.
type api struct{}

func (api) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &http.Response{Header: http.Header{}, Body: http.NoBody, Request: r}
	if _, err := fmt.Sscan(strings.Trim(r.URL.Path, "/"), &response.StatusCode); err != nil {
		return nil, fmt.Errorf("dial tcp: lookup %s: no such host", r.URL.Host)
	}
	response.Header.Set("Retry-After", r.URL.Query().Get("after"))
	return response, nil
}

// What the queue sees of a function that only checks its responses.
func TestWhatBecomesOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		client, begin := &http.Client{Transport: api{}}, time.Now()
		calls := map[string][]int{} // when, in seconds
		h, err := handler.New(batch.Text(func(ctx context.Context, path string) error {
			calls[path] = append(calls[path], int(time.Since(begin)/time.Second))
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.com/"+path, nil)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			return httpstatus.Check(response)
		}), handler.Config{
			SQS: q.Client, Concurrency: 1, Classify: httpstatus.Classify, Backoff: partialfailure.Constant(3 * time.Second),
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		q.Send("200", "404", "503", "429?after=7", "403?after=20", "nowhere")
		q.Map(24*time.Second, h.Invoke)
		for path, want := range map[string][]int{
			"200": {0}, "404": {0}, "429?after=7": {0, 7, 14, 21}, "403?after=20": {0, 20},
			"503": {0, 3, 6, 9, 12}, "nowhere": {0, 3, 6, 9, 12}, // maxReceiveCount is 5
		} {
			if got := calls[path]; !slices.Equal(got, want) {
				t.Errorf("%s was handled after %v s, want %v", path, got, want)
			}
		}
		var dead []string
		for _, m := range q.DeadLetters() {
			dead = append(dead, *m.Body)
		}
		slices.Sort(dead)
		if want := []string{"404", "503", "nowhere"}; !slices.Equal(dead, want) {
			t.Errorf("dead letters: %v, want %v", dead, want)
		}
	})
}
