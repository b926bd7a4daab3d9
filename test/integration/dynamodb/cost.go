package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// rounds is how many batches of a kind are handled, whose median counts.
const rounds = 30

// distances are the times that are added to each request: none, and one as DynamoDB in a
// Region may take. DynamoDB Local shares this machine's processors, a Region does not.
var distances = []time.Duration{0, 5 * time.Millisecond}

// costs are those of batches: the requests of all of them, and the median of their times.
type costs struct {
	Requests     int
	Milliseconds float64
}

// cost counts the requests of batches, and compares their time with Powertools for Python.
func (w *world) cost(ctx context.Context) (err error) {
	defer must.Return(&err)
	env := w.python(ctx)
	w.createTable(ctx, shared)
	for _, distance := range distances {
		fmt.Printf("each request takes %v longer:\n", distance)
		w.compare(ctx, env, distance)
	}
	return nil
}

func (w *world) compare(ctx context.Context, env *pyenv.Env, distance time.Duration) {
	one, ten := w.ourCosts(ctx, 1, distance), w.ourCosts(ctx, 10, distance)
	cmd := env.Command(ctx, "-B", filepath.Join(w.stage.Root, programs, "batch.py"), strconv.Itoa(rounds), strconv.FormatInt(distance.Milliseconds(), 10))
	cmd.Env = w.environment()
	out := must.Get(w.stage.Log.Run(cmd))
	var theirs bill
	if err := json.Unmarshal([]byte(out), &theirs); err != nil {
		must.Failf("%q: %w", out, err)
	}
	for _, l := range []struct {
		name    string
		records int
		bill
	}{{"sqsbatch, 1 record", 1, one}, {"sqsbatch, 10 records", 10, ten}, {"Powertools for Python, 10 records", 10, theirs}} {
		records := rounds * l.records
		fmt.Printf("  %-34s new: %.1f requests a record, %5.1f ms a batch; again: %.1f requests a record, %5.1f ms\n", l.name,
			float64(l.New.Requests)/float64(records), l.New.Milliseconds, float64(l.Again.Requests)/float64(records), l.Again.Milliseconds)
		if l.New.Requests != 2*records || l.Again.Requests != records {
			must.Failf("%d records made %d requests, and %d as duplicates", records, l.New.Requests, l.Again.Requests)
		}
	}
	fmt.Printf("  10 new records take %.2f times as long as one, Powertools takes %.1f times as long as sqsbatch\n",
		ten.New.Milliseconds/one.New.Milliseconds, theirs.New.Milliseconds/ten.New.Milliseconds)
}

// bill is that of new records, and of the same ones once more.
type bill struct{ New, Again costs }

// ourCosts handles batches of n records by a function that does nothing.
func (w *world) ourCosts(ctx context.Context, n int, distance time.Duration) bill {
	counter := &counting{client: awshttp.NewBuildableClient(), distance: distance}
	store := dynamostore.New(w.client(func(o *awsdynamodb.Options) { o.HTTPClient = counter }), shared)
	nothing := batch.JSON(func(context.Context, order) error { return nil })
	h := must.Get(handler.New(batch.Chain(nothing, idempotency.New(store, idempotency.Config{Key: idempotency.Field("orderId"), Prefix: fmt.Sprintf("%d records, %v", n, distance)})),
		handler.Config{Logger: slog.New(slog.DiscardHandler)}))
	batches := make([][]byte, rounds+1)
	for i := range batches {
		batches[i] = event(i, n)
	}
	measure(ctx, h, counter, batches[:1]) // opens the connections
	return bill{New: measure(ctx, h, counter, batches[1:]), Again: measure(ctx, h, counter, batches[1:])}
}

func measure(ctx context.Context, h *handler.LambdaHandler, counter *counting, batches [][]byte) costs {
	before := counter.requests.Load()
	var times []time.Duration
	for _, b := range batches {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		began := time.Now()
		answer, err := h.Invoke(ctx, b)
		times = append(times, time.Since(began))
		cancel()
		if err != nil || string(answer) != `{"batchItemFailures":[]}` {
			must.Failf("%s, %w", answer, err)
		}
	}
	slices.Sort(times)
	return costs{int(counter.requests.Load() - before), float64(times[len(times)/2].Microseconds()) / 1000}
}

// event is a batch of n records that no other batch has.
func event(number, n int) []byte {
	var e events.SQSEvent
	for i := range n {
		id := fmt.Sprintf("%d-%d", number, i)
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: id, Body: `{"orderId":"` + id + `"}`, EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:orders",
		})
	}
	return must.Get(json.Marshal(e))
}

// counting is an HTTP client of the SDK that counts requests, and is at a distance.
type counting struct {
	client   *awshttp.BuildableClient
	distance time.Duration
	requests atomic.Int64
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	if !sleep.For(r.Context(), c.distance) {
		return nil, r.Context().Err()
	}
	return c.client.Do(r)
}
