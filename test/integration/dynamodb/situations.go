package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

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
// condition, which docs/idempotency.md says. If this fails, they have a fence now.
func theyFailLate(ctx context.Context, p *pair) {
	p.theyAreLate(ctx, "fail", "RuntimeError")
	if item := p.item(ctx); item != nil {
		must.Failf("after their failure the item is %v; docs/idempotency.md says that it is gone", item)
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
