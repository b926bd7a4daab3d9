package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	try  func(context.Context, *pair) error
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
func (p *pair) theirs(ctx context.Context) (end said, ran bool, err error) {
	c, first, err := p.start(ctx, long)
	if err != nil || first.Event == "ended" {
		return first, false, err
	}
	end, err = c.end("return")
	return end, true, err
}

// claim has them claim the order, and their function wait.
func (p *pair) claim(ctx context.Context, left time.Duration) (*call, error) {
	c, first, err := p.start(ctx, left)
	if err == nil && first.Event != "began" {
		err = fmt.Errorf("their function was not called: %v", first)
	}
	return c, err
}

// complete has them do the work.
func (p *pair) complete(ctx context.Context) error {
	end, ran, err := p.theirs(ctx)
	if err != nil || !ran || end.Error != "" {
		return fmt.Errorf("their function did not do the work: called %v, %v, %v", ran, end, err)
	}
	return nil
}

// weWork has us do the work.
func (p *pair) weWork(ctx context.Context) error {
	if o := p.ours(ctx, long, work); !o.ran || o.err != nil {
		return fmt.Errorf("our function did not do the work: called %v, %v", o.ran, o.err)
	}
	return nil
}

// duplicate wants our function not to be called, since the order was shipped by someone.
func (p *pair) duplicate(ctx context.Context, by string) error {
	o := p.ours(ctx, long, work)
	if o.ran || !errors.Is(o.err, batch.ErrDuplicate) {
		return fmt.Errorf("ours: called %v, %v; want a duplicate", o.ran, o.err)
	}
	return sameResult(o.result, by)
}

// sameResult compares a kept result. A result of ours comes to TypeScript as a string of JSON.
func sameResult(result []byte, by string) error {
	var s string
	if json.Unmarshal(result, &s) == nil {
		result = []byte(s)
	}
	var got struct{ Shipped string }
	if err := json.Unmarshal(result, &got); err != nil || got.Shipped != by {
		return fmt.Errorf("the result is %s, want that of %s", result, by)
	}
	return nil
}

// item is what the table has of the order; nil for nothing.
func (p *pair) item(ctx context.Context) (map[string]types.AttributeValue, error) {
	out, err := p.world.client().GetItem(ctx, &awsdynamodb.GetItemInput{
		TableName: aws.String(shared), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: prefix + "#" + p.hash(p.order)}},
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

func theyComplete(ctx context.Context, p *pair) error {
	if err := p.complete(ctx); err != nil {
		return err
	}
	return p.duplicate(ctx, p.order)
}

func weComplete(ctx context.Context, p *pair) error {
	if err := p.weWork(ctx); err != nil {
		return err
	}
	end, ran, err := p.theirs(ctx)
	if err != nil || ran || end.Error != "" {
		return fmt.Errorf("theirs: called %v, %v, %v", ran, end, err)
	}
	return sameResult(end.Result, "by us")
}

func theyAreInProgress(ctx context.Context, p *pair) (err error) {
	defer must.Return(&err)
	started := time.Now()
	c := must.Get(p.claim(ctx, long))
	o := p.ours(ctx, long, work)
	if o.ran || !errors.Is(o.err, batch.ErrInProgress) {
		return fmt.Errorf("ours: called %v, %v; want in progress", o.ran, o.err)
	}
	// The middleware adds a second. They and the store round to milliseconds.
	left := batch.VerdictOf(o.err).After - time.Second
	least, most := long-time.Since(started)-2*time.Millisecond, long+2*time.Millisecond
	if left < least || left > most {
		return fmt.Errorf("%v are left of their claim, want %v to %v", left, least, most)
	}
	must.Get(c.end("return"))
	return p.duplicate(ctx, p.order)
}

func weAreInProgress(ctx context.Context, p *pair) error {
	var end said
	var ran bool
	var failed error
	o := p.ours(ctx, long, func(context.Context) error {
		end, ran, failed = p.theirs(ctx)
		return nil // and keeps nothing
	})
	if failed != nil || ran || end.Error != "IdempotencyAlreadyInProgressError" {
		return fmt.Errorf("theirs: called %v, %v, %v; want IdempotencyAlreadyInProgressError", ran, end, failed)
	}
	if !o.ran || o.err != nil {
		return fmt.Errorf("ours: called %v, %v", o.ran, o.err)
	}
	end, ran, err := p.theirs(ctx)
	if err != nil || ran || end.Error != "" || len(end.Result) != 0 && string(end.Result) != "null" {
		return fmt.Errorf("theirs, once we have completed: called %v, %v, %v", ran, end, err)
	}
	return nil
}

// theyAreLate has their claim time out while their function runs, and us do the work. Then
// their function ends, with an error or with none.
func (p *pair) theyAreLate(ctx context.Context, how, wantError string) (err error) {
	defer must.Return(&err)
	c := must.Get(p.claim(ctx, short))
	for o := p.ours(ctx, long, work); !o.ran || o.err != nil; o = p.ours(ctx, long, work) {
		if o.ran || !errors.Is(o.err, batch.ErrInProgress) {
			return fmt.Errorf("ours: called %v, %v", o.ran, o.err)
		}
		if !sleep.For(ctx, batch.VerdictOf(o.err).After) {
			return ctx.Err()
		}
	}
	must.Do(p.duplicate(ctx, "by us"))
	if end, err := c.end(how); err != nil || end.Error != wantError {
		return fmt.Errorf("theirs: %v, %v", end, err)
	}
	return nil
}

// Their failure deletes our completion, and the work is done again: they release without a
// condition, which docs/idempotency.md says. If this fails, they have a fence now.
func theyFailLate(ctx context.Context, p *pair) error {
	if err := p.theyAreLate(ctx, "fail", "RuntimeError"); err != nil {
		return err
	}
	if item, err := p.item(ctx); err != nil || item != nil {
		return fmt.Errorf("after their failure the item is %v, %v; docs/idempotency.md says that it is gone", item, err)
	}
	return p.weWork(ctx)
}

// Their success overwrites our completion. The work is still done, so nothing is done again.
func theySucceedLate(ctx context.Context, p *pair) error {
	if err := p.theyAreLate(ctx, "return", ""); err != nil {
		return err
	}
	return p.duplicate(ctx, p.order)
}

func weSucceedLate(ctx context.Context, p *pair) error {
	return p.weAreLate(ctx, nil, idempotency.ErrTakenOver)
}

func weFailLate(ctx context.Context, p *pair) error {
	failure := errors.New("told to fail")
	return p.weAreLate(ctx, failure, failure)
}

// weAreLate has our claim time out while our function runs, and them do the work. What our
// function then returns changes nothing in the table.
func (p *pair) weAreLate(ctx context.Context, returns, want error) error {
	var before map[string]types.AttributeValue
	var failed error
	o := p.ours(ctx, short, func(own context.Context) error {
		<-own.Done()
		sleep.For(ctx, 10*time.Millisecond) // the grace, and the millisecond that is rounded up
		if failed = p.complete(ctx); failed == nil {
			before, failed = p.item(ctx)
		}
		return returns
	})
	if failed != nil || !o.ran || !errors.Is(o.err, want) {
		return fmt.Errorf("ours: called %v, %v, want %v; meanwhile: %v", o.ran, o.err, want, failed)
	}
	after, err := p.item(ctx)
	if err != nil || before == nil || !reflect.DeepEqual(before, after) {
		return fmt.Errorf("our late end changed the item from %v to %v, %v", before, after, err)
	}
	return p.duplicate(ctx, p.order)
}
