package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"} {
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// Each example on an event: the positions of the records that fail, and what the function
// logs for the others.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name, event string
		failed      []int
		logged      []string
	}{
		// Three of the bodies are no orders: the others do not notice, with other invocations or without.
		{"loop", "malformed.json", []int{2, 4, 5}, []string{"shipped order=o-1 quantity=1", "shipped order=o-3 quantity=1", "shipped order=o-6 quantity=1"}},
		{"other", "malformed.json", []int{2, 4, 5}, []string{"shipped order=o-1 quantity=1", "shipped order=o-3 quantity=1", "shipped order=o-6 quantity=1"}},
		// Nine of ten orders are one statement. Record 9 is an order of nothing.
		{"bulk", "mixed.json", []int{9}, []string{"inserted orders=9"}},
		{"bulk", "malformed.json", []int{2, 4, 5}, []string{"inserted orders=3"}},
		// 2 is refused, 3 limited, 4 not served at the moment, 5 an order of nothing.
		{"retries", "shapes/http.json", []int{2, 3, 4, 5}, []string{"shipped order=o-1", "shipped order=o-6"}},
		// The worker refuses record 3 with a status of 422.
		{"http", "attributes.json", []int{3}, []string{"shipped order=o-1 queue=orders priority=7", "shipped order=o-2 queue=orders priority="}},
		// Record 4 is of a type without a handler, 5 has a quantity in words, 6 no type.
		{"types", "shapes/types.json", []int{4, 5, 6}, []string{"shipped order=o-1 quantity=1", "refunded order=o-0", "shipped order=o-2 quantity=4"}},
		// Records 1 to 3 are one of each format. 4 is a basket with a quantity in words, 5 a line without a quantity.
		{"by-format", "shapes/formats.json", []int{4, 5}, []string{"shipped order=o-1 lines=2", "shipped order=o-2 quantity=3", "shipped order=o-3 quantity=4"}},
		// Record 3 is the confirmation of a subscription, 4 has no order in it, 5 is cut off, 6 was sent to the queue itself.
		{"sns", "shapes/sns.json", []int{3, 4, 5}, []string{"shipped order=o-1 tenant=blue subject=", "shipped order=o-2 tenant= subject=An order", "shipped order=o-6 tenant= subject="}},
		// The same orders with raw message delivery: the function does not change.
		{"sns", "shapes/sns-raw.json", []int{3}, []string{"shipped order=o-1 tenant=blue subject=", "shipped order=o-2 tenant= subject="}},
		// Record 1 has two objects, 2 is S3's test, 3 ends at its second object of three, and 4 is no notification.
		{"s3", "shapes/s3.json", []int{3, 4}, []string{"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/a+b.csv",
			"imported bucket=imports key=2026/first.csv", "imported bucket=imports key=2026/北京/plain.csv"}},
		// Record 2 is S3's test, 3 was delivered raw, and 4 is no notification.
		{"s3", "shapes/s3-in-sns.json", []int{4}, []string{"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/delivered-raw.csv"}},
		// Record 3 is of another type, 4 has no detail, 5 one that is no order, and 6 is no event.
		{"eventbridge", "shapes/eventbridge.json", []int{4, 5, 6}, []string{"shipped order=o-1 quantity=1 source=shop.orders", "shipped order=o-2 quantity=4 source=shop.orders"}},
		// Record 1 is not compressed, 4 is damaged, and 5 compressed by Brotli.
		{"payloads", "shapes/gzip.json", []int{4, 5}, []string{"shipped order=o-1 quantity=1 note=0", "shipped order=o-2 quantity=2 note=0", "shipped order=o-3 quantity=3 note=0"}},
		// Records 2 and 3 are pointers of the libraries' two generations. 4 is one to an object that does not exist, 5 to a bucket of someone else's.
		{"payloads", "shapes/extended.json", []int{4, 5}, []string{"shipped order=o-1 quantity=1 note=0", "shipped order=o-2 quantity=2 note=307200", "shipped order=o-3 quantity=3 note=307200"}},
		// Record 2 is binary, 4 came by way of a topic, and 5 is not the base64 that it says it is.
		{"gocloud", "shapes/pubsub.json", []int{5}, []string{"order bytes=36 tenant=blue & green trace=7", "order bytes=4 tenant=red trace=", "order bytes=36 tenant=100% trace=", "order bytes=36 tenant=yellow trace="}},
		// Record 3 is for the poison queue, 4 was not sent by Watermill, and 5 is not JSON.
		{"watermill", "shapes/watermill.json", []int{3, 5}, []string{"shipped order=o-1 correlation=c-7", "shipped order=o-2 correlation=", "shipped order=o-4 correlation="}},
	} {
		t.Run(c.name+" "+c.event, func(t *testing.T) {
			http.DefaultClient.Transport = &carrier{} // it has not been asked
			e := examples[c.name]
			failed, logged := invoke(t, e.function, e.config, c.event)
			if !slices.Equal(failed, c.failed) {
				t.Errorf("the answer has the records %v, want %v", failed, c.failed)
			}
			sameLines(t, logged, c.logged...)
		})
	}
}

// The schedule's event is not for the queue's handler, and gets an answer of its own.
func TestOther_Schedule(t *testing.T) {
	lines := capture(t)
	function, err := handler.New(loop, withSchedule)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := function.Invoke(t.Context(), []byte(`{"version":"0","id":"53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa","detail-type":"Scheduled Event",
		"source":"aws.events","account":"123456789012","time":"2026-11-21T03:00:00Z","region":"us-east-1","resources":[],"detail":{}}`))
	if err != nil || string(answer) != "null" {
		t.Errorf("%s, %v", answer, err)
	}
	sameLines(t, lines(), "archived until=2026-11-21")
	if _, err := function.Invoke(t.Context(), []byte(`{"detail-type":"Warm-up"}`)); err == nil {
		t.Error("an invocation of another type had no error")
	}
}

// As a container: orders are deleted, ten to a call, and what is none is a dead letter.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lines := queue(t, "malformed.json"), capture(t)
		q.Poll(t.Context(), time.Minute, loop, polling)
		sameLines(t, lines(), "shipped order=o-1 quantity=1", "shipped order=o-3 quantity=1", "shipped order=o-6 quantity=1")
		if deleted, dead := q.Events(sqs.Deleted), q.DeadLetters(); len(deleted) != 6 || len(dead) != 3 {
			t.Errorf("%d messages were deleted, %d dead letters, want 6 and 3", len(deleted), len(dead))
		}
	})
}

// What errors become.
func TestVerdicts(t *testing.T) {
	http.DefaultClient.Transport = &carrier{}
	permanent := batch.Verdict{Permanent: true, Verb: true}
	for _, c := range []struct {
		handler  batch.Handler
		classify func(error) error
		body     string
		want     batch.Verdict
	}{
		{batch.JSON(shipByCarrier), classify, `{"id":"a","sku":"unknown","quantity":1}`, permanent},
		{batch.JSON(shipByCarrier), classify, `{"id":"b","sku":"busy","quantity":1}`, batch.Verdict{After: 2 * time.Second, HasAfter: true, Verb: true}},
		{batch.JSON(shipByCarrier), classify, `{"id":"c","sku":"down","quantity":1}`, batch.Verdict{}}, // the backoff's
		{batch.JSON(shipByCarrier), classify, `{"id":"d","sku":"ok","quantity":0}`, permanent},
		{overHTTP, statuses.Classify, `{"sku":"unknown"}`, permanent},
		{overHTTP, statuses.Classify, "no order", permanent},
		{overHTTP, statuses.Classify, `{"sku":"moved"}`, batch.Verdict{}},
	} {
		err := c.handler.Handle(t.Context(), batch.Record{Body: c.body})
		if got := batch.VerdictOf(c.classify(err)); err == nil || got != c.want {
			t.Errorf("%s: %+v, want %+v (%v)", c.body, got, c.want, err)
		}
	}
}

// The carrier is down for a minute: few orders are tried, all of them are shipped.
func TestRetries_Outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &carrier{outage: time.Minute}
		http.DefaultClient.Transport = c
		q, shipped := queue(t, "ten.json"), capture(t)
		q.Poll(t.Context(), 20*time.Minute, withCarrier, carrierConfig)
		if deleted := q.Events(sqs.Deleted); len(shipped()) != 10 || len(deleted) != 10 {
			t.Errorf("%d shipped, %d deleted, want 10", len(shipped()), len(deleted))
		}
		if c.refused < 3 || c.refused > 4 {
			t.Errorf("%d calls while it was down, want the 3 that open the breaker and the one next to the last", c.refused)
		}
		if dead := q.DeadLetters(); len(dead) != 0 {
			t.Errorf("%d dead letters", len(dead))
		}
	})
}

// The objects of a notification come one after another.
func TestS3_InOrder(t *testing.T) {
	_, logged := invoke(t, notifications, handler.Config{Concurrency: 1}, "shapes/s3.json")
	keys := strings.Join(logged, "\n")
	if want := strings.ReplaceAll("2026/july august ü.csv\n2026/a+b.csv\n2026/first.csv\n2026/北京/plain.csv", "2026/", "imported bucket=imports key=2026/"); keys != want {
		t.Errorf("the objects came as\n%s", keys)
	}
}

func TestByAttribute(t *testing.T) {
	lines := capture(t)
	for name, permanent := range map[string]bool{"order.placed": false, "order.archived": true} {
		r := batch.Record{Body: `{"id":"o-1","sku":"ok","quantity":2}`, MessageAttributes: map[string]batch.MessageAttribute{"type": {DataType: "String", StringValue: name}}}
		if err := byAttribute.Handle(t.Context(), r); batch.VerdictOf(err).Permanent != permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	sameLines(t, lines(), "shipped order=o-1 quantity=2")
}

func TestByFormat_TheReasonIsEachHandlers(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"o-4"}`: "malformed body: Validate: no lines; or: Validate: no sku; or: not three fields with semicolons between them",
		`o-5;ok;two`:   "malformed body: not valid JSON at offset 0; or: the third field is not a number",
	} {
		if err := byFormat.Handle(t.Context(), batch.Record{Body: body}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
