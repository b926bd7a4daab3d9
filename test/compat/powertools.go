package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// The releases that the checks were written against.
const (
	powertoolsPython     = "3.37.0"
	powertoolsTypeScript = "2.35.0"
	powertoolsSDK        = "3.1164.0"
	libDynamoDBForJS     = "3.1162.0"
)

// shared is the table, and prefix is of the keys, that the programs name, too.
const (
	shared = "idempotency"
	prefix = "ship-order"
)

// library is Powertools in one language.
type library struct {
	name    string
	hash    func(key string) string
	command func(ctx context.Context, args ...string) *exec.Cmd
}

// python needs PyPI on the first use.
func (w *world) python(ctx context.Context) *tools.Python {
	env, err := tools.InstallPython(ctx, "powertools-"+powertoolsPython+"-boto3-"+tools.Boto3, "aws-lambda-powertools=="+powertoolsPython, "boto3=="+tools.Boto3)
	if err != nil {
		must.Failf("%w: %w", tools.ErrNotRun, err)
	}
	return env
}

func (w *world) shareWithPython(ctx context.Context) (err error) {
	defer must.Return(&err)
	env, program := w.python(ctx), filepath.Join(w.stage.Root, programs, "powertools.py")
	return w.share(ctx, library{"Python", idempotency.PowertoolsPython, func(ctx context.Context, args ...string) *exec.Cmd {
		return env.Command(ctx, append([]string{"-B", program}, args...)...)
	}})
}

func (w *world) shareWithTypeScript(ctx context.Context) error {
	env, err := tools.InstallNode(ctx, w.stage.Log, "powertools-typescript-"+powertoolsTypeScript+"-"+powertoolsSDK, "@aws-lambda-powertools/idempotency@"+powertoolsTypeScript,
		"@aws-sdk/client-dynamodb@"+powertoolsSDK, "@aws-sdk/lib-dynamodb@"+libDynamoDBForJS)
	if err != nil {
		return fmt.Errorf("%w: %w", tools.ErrNotRun, err)
	}
	program := filepath.Join(w.stage.Root, programs, "powertools.cjs")
	return w.share(ctx, library{"TypeScript", idempotency.PowertoolsTypeScript, func(ctx context.Context, args ...string) *exec.Cmd {
		return env.Command(ctx, append([]string{program}, args...)...)
	}})
}

// share tries every situation with keys of each kind.
func (w *world) share(ctx context.Context, l library) (err error) {
	defer must.Return(&err)
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	w.createTable(ctx, shared)
	var wg sync.WaitGroup
	keys := []string{"o-1", `"quoted" \ o/1`, "Größe 東京 😀"}
	errs := make([]error, len(keys))
	for i, key := range keys {
		wg.Go(func() {
			for _, s := range situations {
				p := &pair{world: w, library: l, order: key + " " + s.name}
				if err := must.Run(func() { s.try(ctx, p) }); err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("%s: %w", p.order, err))
				}
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d situations with %d keys each\n", len(situations), len(keys))
	return errors.Join(errs...)
}

// environment is what a program needs to find the server.
func (w *world) environment(more ...string) []string {
	return tools.Environment(append(more, "AWS_ENDPOINT_URL_DYNAMODB="+w.url, "POWERTOOLS_DEV=true")...)
}

// call is an invocation of their function, in a process of its own.
type call struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *json.Decoder
	stderr *strings.Builder
}

// said is a line that their program prints.
type said struct {
	Event  string
	Result json.RawMessage
	Error  string // the name of the exception
}

func (s said) String() string {
	return fmt.Sprintf("%s, result %q, error %q", s.Event, s.Result, s.Error)
}

// start invokes their function with so much time left, and returns its first line: the
// function was called, or the invocation ended without that.
func (p *pair) start(ctx context.Context, left time.Duration) (*call, said) {
	c := &call{cmd: p.command(ctx, fmt.Sprint(left.Milliseconds()), p.body()), stderr: &strings.Builder{}}
	c.cmd.Env = p.world.environment(c.cmd.Env...)
	c.cmd.Stderr = c.stderr
	c.input = must.Get(c.cmd.StdinPipe())
	c.output = json.NewDecoder(must.Get(c.cmd.StdoutPipe()))
	must.Do(c.cmd.Start())
	return c, c.next()
}

// next is the program's next line. With the last one the process ends.
func (c *call) next() (line said) {
	err := c.output.Decode(&line)
	if err == nil && line.Event == "began" {
		return line
	}
	_ = c.input.Close()
	if err := errors.Join(err, c.cmd.Wait()); err != nil {
		must.Failf("%s: %w\n%s", filepath.Base(c.cmd.Path), err, c.stderr)
	}
	return line
}

// end has their function end, by "return" or "fail".
func (c *call) end(how string) said {
	must.Get(io.WriteString(c.input, how+"\n"))
	return c.next()
}

// situations are those of one order that their function and ours are given.
var situations = []struct {
	name string
	try  func(context.Context, *pair)
}{
	{"completed by them", theyComplete},
	{"completed by us", weComplete},
	{"in progress with them", theyAreInProgress},
	{"in progress with us", weAreInProgress},
	{"taken over by us, they fail late", theyFailLate},
	{"taken over by us, they succeed late", theySucceedLate},
	{"taken over by them, we succeed late", weSucceedLate},
	{"taken over by them, we fail late", weFailLate},
}

// The time that an invocation has: enough, or so little that its claim ends soon.
const (
	long  = time.Minute
	short = 300 * time.Millisecond
)

// pair is a function of theirs and one of ours with the same work.
type pair struct {
	library
	world *world
	order string
}

type order struct {
	OrderID string `json:"orderId"`
}

func (p *pair) body() string {
	body, _ := json.Marshal(order{p.order}) // a string
	return string(body)
}

// outcome is that of a call of our function.
type outcome struct {
	ran    bool
	err    error
	result []byte // that was kept, for a duplicate
}

// ours calls our function, which has so much time.
func (p *pair) ours(ctx context.Context, left time.Duration, do func(context.Context) error) (o outcome) {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	h := batch.Chain(batch.JSON(func(ctx context.Context, _ order) error {
		o.ran = true
		return do(ctx)
	}), idempotency.New(dynamostore.New(p.world.client(), shared), idempotency.Config{
		Key: idempotency.Field("orderId"), Prefix: prefix, Hash: p.hash, Grace: time.Millisecond,
		OnDuplicate: func(_ context.Context, _ batch.Record, result []byte) error { o.result = result; return nil },
	}))
	o.err = h.Handle(ctx, batch.Record{MessageID: "m-1", Body: p.body()})
	return o
}

// work is what our function does, if nothing else is said.
func work(ctx context.Context) error {
	return idempotency.Keep(ctx, map[string]string{"shipped": "by us"})
}

// theirs calls their function to its end. ran is whether it was called.
func (p *pair) theirs(ctx context.Context) (end said, ran bool) {
	c, first := p.start(ctx, long)
	if first.Event == "ended" {
		return first, false
	}
	return c.end("return"), true
}

// claim has them claim the order, and their function wait.
func (p *pair) claim(ctx context.Context, left time.Duration) *call {
	c, first := p.start(ctx, left)
	if first.Event != "began" {
		must.Failf("their function was not called: %v", first)
	}
	return c
}

// theyWork has them do the work.
func (p *pair) theyWork(ctx context.Context) {
	if end, ran := p.theirs(ctx); !ran || end.Error != "" {
		must.Failf("their function did not do the work: called %v, %v", ran, end)
	}
}

// weWork has us do the work.
func (p *pair) weWork(ctx context.Context) {
	if o := p.ours(ctx, long, work); !o.ran || o.err != nil {
		must.Failf("our function did not do the work: called %v, %v", o.ran, o.err)
	}
}

// duplicate wants our function not to be called, since the order was shipped by someone.
func (p *pair) duplicate(ctx context.Context, by string) {
	o := p.ours(ctx, long, work)
	if o.ran || !errors.Is(o.err, batch.ErrDuplicate) {
		must.Failf("ours: called %v, %v; want a duplicate", o.ran, o.err)
	}
	sameResult(o.result, by)
}

// sameResult compares a kept result. A result of ours comes to TypeScript as a string of JSON.
func sameResult(result []byte, by string) {
	var s string
	if json.Unmarshal(result, &s) == nil {
		result = []byte(s)
	}
	var got struct{ Shipped string }
	if err := json.Unmarshal(result, &got); err != nil || got.Shipped != by {
		must.Failf("the result is %s, want that of %s", result, by)
	}
}

// item is what the table has of the order; nil for nothing.
func (p *pair) item(ctx context.Context) map[string]types.AttributeValue {
	return must.Get(p.world.client().GetItem(ctx, &awsdynamodb.GetItemInput{
		TableName: aws.String(shared), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: prefix + "#" + p.hash(p.order)}},
	})).Item
}

func theyComplete(ctx context.Context, p *pair) {
	p.theyWork(ctx)
	p.duplicate(ctx, p.order)
}

func weComplete(ctx context.Context, p *pair) {
	p.weWork(ctx)
	end, ran := p.theirs(ctx)
	if ran || end.Error != "" {
		must.Failf("theirs: called %v, %v", ran, end)
	}
	sameResult(end.Result, "by us")
}

func theyAreInProgress(ctx context.Context, p *pair) {
	started := time.Now()
	c := p.claim(ctx, long)
	o := p.ours(ctx, long, work)
	if o.ran || !errors.Is(o.err, batch.ErrInProgress) {
		must.Failf("ours: called %v, %v; want in progress", o.ran, o.err)
	}
	// The middleware adds a second. They and the store round to milliseconds.
	left := batch.VerdictOf(o.err).After - time.Second
	least, most := long-time.Since(started)-2*time.Millisecond, long+2*time.Millisecond
	if left < least || left > most {
		must.Failf("%v are left of their claim, want %v to %v", left, least, most)
	}
	c.end("return")
	p.duplicate(ctx, p.order)
}

func weAreInProgress(ctx context.Context, p *pair) {
	var end said
	var ran bool
	var failed error
	o := p.ours(ctx, long, func(context.Context) error {
		failed = must.Run(func() { end, ran = p.theirs(ctx) })
		return nil // and keeps nothing
	})
	if failed != nil || ran || end.Error != "IdempotencyAlreadyInProgressError" {
		must.Failf("theirs: called %v, %v, %v; want IdempotencyAlreadyInProgressError", ran, end, failed)
	}
	if !o.ran || o.err != nil {
		must.Failf("ours: called %v, %v", o.ran, o.err)
	}
	end, ran = p.theirs(ctx)
	if ran || end.Error != "" || len(end.Result) != 0 && string(end.Result) != "null" {
		must.Failf("theirs, once we have completed: called %v, %v", ran, end)
	}
}

// theyAreLate has their claim time out while their function runs, and us do the work. Then
// their function ends, with an error or with none.
func (p *pair) theyAreLate(ctx context.Context, how, wantError string) {
	c := p.claim(ctx, short)
	for o := p.ours(ctx, long, work); !o.ran || o.err != nil; o = p.ours(ctx, long, work) {
		if o.ran || !errors.Is(o.err, batch.ErrInProgress) {
			must.Failf("ours: called %v, %v", o.ran, o.err)
		}
		if !sleep.For(ctx, batch.VerdictOf(o.err).After) {
			must.Do(ctx.Err())
		}
	}
	p.duplicate(ctx, "by us")
	if end := c.end(how); end.Error != wantError {
		must.Failf("theirs: %v", end)
	}
}

// Their failure deletes our completion, and the work is done again: they release without a
// condition, which docs/powertools.md says. If this fails, they have a fence now.
func theyFailLate(ctx context.Context, p *pair) {
	p.theyAreLate(ctx, "fail", "RuntimeError")
	if item := p.item(ctx); item != nil {
		must.Failf("after their failure the item is %v; docs/powertools.md says that it is gone", item)
	}
	p.weWork(ctx)
}

// Their success overwrites our completion. The work is still done, so nothing is done again.
func theySucceedLate(ctx context.Context, p *pair) {
	p.theyAreLate(ctx, "return", "")
	p.duplicate(ctx, p.order)
}

func weSucceedLate(ctx context.Context, p *pair) { p.weAreLate(ctx, nil, idempotency.ErrTakenOver) }

func weFailLate(ctx context.Context, p *pair) {
	failure := errors.New("told to fail")
	p.weAreLate(ctx, failure, failure)
}

// weAreLate has our claim time out while our function runs, and them do the work. What our
// function then returns changes nothing in the table.
func (p *pair) weAreLate(ctx context.Context, returns, want error) {
	var before map[string]types.AttributeValue
	var failed error
	o := p.ours(ctx, short, func(own context.Context) error {
		<-own.Done()
		sleep.For(ctx, 10*time.Millisecond) // the grace, and the millisecond that is rounded up
		failed = must.Run(func() {
			p.theyWork(ctx)
			before = p.item(ctx)
		})
		return returns
	})
	if failed != nil || !o.ran || !errors.Is(o.err, want) {
		must.Failf("ours: called %v, %v, want %v; meanwhile: %v", o.ran, o.err, want, failed)
	}
	if after := p.item(ctx); before == nil || !reflect.DeepEqual(before, after) {
		must.Failf("our late end changed the item from %v to %v", before, after)
	}
	p.duplicate(ctx, p.order)
}

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

func (w *world) compare(ctx context.Context, env *tools.Python, distance time.Duration) {
	one, ten := w.ourCosts(ctx, 1, distance), w.ourCosts(ctx, 10, distance)
	cmd := env.Command(ctx, "-B", filepath.Join(w.stage.Root, programs, "powertools_batch.py"), strconv.Itoa(rounds), strconv.FormatInt(distance.Milliseconds(), 10))
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
