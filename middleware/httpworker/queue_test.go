package httpworker_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/middleware/httpworker"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// What the queue sees of a worker that answers with the status that the body
// names: as in Elastic Beanstalk, and with a classifier.
func TestWhatBecomesOfRecords(t *testing.T) {
	for name, c := range map[string]struct {
		classify func(error) error
		dead     []string
		tries404 int
	}{
		"as in Elastic Beanstalk": {nil, []string{"404", "500"}, testqueue.MaxReceiveCount},
		"4xx are permanent":       {httpstatus.Classify, []string{"404", "500"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, calls := time.Now(), map[string][]int{} // when, in seconds
				var attributes []string
				mux := http.NewServeMux()
				mux.HandleFunc("POST /jobs", func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					calls[string(body)] = append(calls[string(body)], int(time.Since(begin)/time.Second))
					attributes = append(attributes, r.Header.Get("X-Aws-Sqsd-Attr-Tenant")+" of "+r.Header.Get("X-Aws-Sqsd-Queue")+" "+r.Header.Get("X-Aws-Sqsd-Receive-Count"))
					status := 0
					_, _ = fmt.Sscan(string(body), &status)
					if status == 429 {
						w.Header().Set("Retry-After", "20")
					}
					w.WriteHeader(status)
				})
				q := testqueue.New(t, testqueue.Standard)
				h, err := handler.New(httpworker.New(mux, httpworker.Options{Path: "/jobs"}), handler.Config{
					SQS: q.Client, Concurrency: 1, Backoff: partialfailure.Constant(5 * time.Second), Classify: c.classify, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, body := range []string{"200", "404", "429", "500"} {
					q.SendInput(&awssqs.SendMessageInput{MessageBody: &body, MessageAttributes: map[string]types.MessageAttributeValue{
						"tenant": {DataType: aws.String("String"), StringValue: aws.String("seven")},
					}})
				}
				q.Map(30*time.Second, h.Invoke)
				if !slices.Equal(calls["429"], []int{0, 20}) || !slices.Equal(calls["500"], []int{0, 5, 10, 15, 20}) || len(calls["404"]) != c.tries404 || len(calls["200"]) != 1 {
					t.Errorf("handled after %v s", calls)
				}
				if attributes[0] != "seven of orders 1" || !slices.Contains(attributes, "seven of orders 5") {
					t.Errorf("the worker saw %q", attributes)
				}
				var dead []string
				for _, m := range q.DeadLetters() {
					dead = append(dead, *m.Body)
				}
				slices.Sort(dead)
				if left, _ := q.Left(); left != 1 || !slices.Equal(dead, c.dead) { // 429 is
					t.Errorf("%d are left, dead letters %q", left, dead)
				}
			})
		})
	}
}
