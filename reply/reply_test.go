package reply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// A thousand calls share one reply queue. None waits for another, and no more than the
// queues' own time is added.
func TestCall_ThousandSideBySide_EachGetsItsOwnAnswer(t *testing.T) {
	calls := manyCalls(t)
	withClient(t, func(w *world, c *reply.Client) {
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() { w.mustCall(c, Request{ID: fmt.Sprint("r-", i)}) })
		}
		began := time.Now()
		all.Wait()
		w.within(began, time.Second)
		synctest.Wait()
		if n := len(w.Server.Calls()); n > 6*calls/10+100 {
			w.Errorf("%d requests for %d calls, want 0.6 for each, and few more", n, calls)
		}
		if q := w.replyQueue(); len(q.Messages) != 0 {
			w.Errorf("%d answers are left", len(q.Messages))
		}
	})
}

func TestErrorOfFunction_IsTheAnswer(t *testing.T) {
	boom := errors.New("no such product")
	const warned, told = "level=WARN", "level=INFO"
	for name, c := range map[string]struct {
		err  error
		want reply.Error
		log  string
	}{
		"an ordinary error": {boom, reply.Error{Text: "no such product"}, warned},
		"permanent":         {batch.Permanent(boom), reply.Error{Text: "no such product", Permanent: true}, told},
		"by Classify":       {errClassified, reply.Error{Text: "classified", Permanent: true}, told},
		"retry after":       {batch.RetryAfter(time.Hour, boom), reply.Error{Text: "no such product", RetryAfter: time.Hour}, warned},
		"a long text":       {errors.New(strings.Repeat("é", 1000)), reply.Error{Text: strings.Repeat("é", 500)}, warned},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sqstest.Config{Handler: handler.Config{Classify: func(err error) error {
				if err == errClassified {
					return batch.Permanent(err)
				}
				return err
			}}}
			inBoth(t, cfg, func(w *world) {
				w.serve(func(context.Context, Request) (Quote, error) { return Quote{}, c.err })
				_, err := w.call(w.client(reply.Config{}), Request{ID: "r-1"})
				if e := answered(err); e == nil || *e != c.want {
					w.Errorf("%#v, want %#v", err, c.want)
				}
				w.wantIdle("succeeded")
				w.wantLog(c.log + ` msg="the request was answered with an error"`)
			})
		})
	}
}

var errClassified = errors.New("classified")

func TestBodyThatCannotBeDecoded_IsAPermanentError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.serve(quote)
		_, err := reply.Call[Quote](w.Context(), w.client(reply.Config{}), w.URL, []string{"secret"})
		if e := answered(err); e == nil || !e.Permanent || strings.Contains(e.Text, "secret") || !strings.Contains(e.Text, "malformed body") {
			w.Errorf("%v", err)
		}
		w.wantIdle("succeeded")
	})
}

func TestUnansweredRequest_ComesBack(t *testing.T) {
	for name, first := range map[string]func(context.Context) error{
		"abort":       func(context.Context) error { return batch.Abort(time.Second, errors.New("down")) },
		"in progress": func(context.Context) error { return batch.RetryAfter(time.Second, batch.ErrInProgress) },
		"stopped":     func(context.Context) error { return batch.ErrStopped },
		"panic":       func(context.Context) error { panic("bug") },
		"end of its context": func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("interrupted")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, sqstest.Config{Handler: handler.Config{RecordTimeout: 2 * time.Second}}, func(w *world) {
				var tries atomic.Int32
				w.serve(func(ctx context.Context, r Request) (Quote, error) {
					if tries.Add(1) == 1 {
						return Quote{}, first(ctx)
					}
					return Quote{r.ID}, nil
				})
				w.mustCall(w.client(reply.Config{}), Request{ID: "r-1"})
				if tries.Load() != 2 {
					w.Errorf("%d tries", tries.Load())
				}
			})
		})
	}
}

func TestCallerHasGivenUp_RequestIsNotHandled(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client(reply.Config{})
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, err := reply.Call[Quote](ctx, c, w.URL, Request{ID: "r-1"}) // nothing serves
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer from orders") {
			w.Error(err)
		}
		w.serve(func(context.Context, Request) (Quote, error) {
			w.Error("the function was called")
			return Quote{}, nil
		})
		w.wantIdle("expired")
	})
}

// What the function returns then is no answer. Its error is in the log, since the caller does
// not hear of it.
func TestCallerGivesUpMeanwhile_ContextOfTheFunctionEnds(t *testing.T) {
	for _, failure := range []error{nil, errors.New("the database is down")} {
		inWorld(t, func(w *world) {
			var took time.Duration
			w.serve(func(ctx context.Context, r Request) (Quote, error) {
				began := time.Now()
				<-ctx.Done()
				took = time.Since(began)
				return Quote{r.ID}, failure
			})
			_, err := w.call(w.client(reply.Config{Timeout: 4 * time.Second}), Request{ID: "r-1"})
			if !errors.Is(err, context.DeadlineExceeded) {
				w.Error(err)
			}
			w.wantIdle("expired")
			if took > 4*time.Second || took == 0 {
				w.Errorf("the context of the function lasted for %v", took)
			}
			if q := w.replyQueue(); len(q.Messages) != 0 {
				w.Error("an answer was sent")
			}
			if failure != nil {
				w.wantLog(`reason="the database is down"`)
			}
		})
	}
}

func TestRepeatedRequest_GetsTheKeptAnswer(t *testing.T) {
	inWorld(t, func(w *world) {
		var handled atomic.Int32
		w.serve(func(_ context.Context, r Request) (Quote, error) {
			return Quote{fmt.Sprint(r.ID, " ", handled.Add(1))}, nil
		}, idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Field("id"), OnDuplicate: reply.Kept}))
		c := w.client(reply.Config{})
		for range 3 {
			if q, err := w.call(c, Request{ID: "r-1"}); err != nil || q.For != "r-1 1" {
				w.Errorf("%+v, %v", q, err)
			}
		}
		w.wantIdle("succeeded", "duplicate", "duplicate")
	})
}

// An answer that is too large to be kept cannot be given again. The caller does not wait for it.
func TestRepeatedRequest_WhoseAnswerWasNotKept_GetsAnError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.serve(func(context.Context, Request) (Quote, error) {
			return Quote{strings.Repeat("x", idempotency.MaxResult)}, nil
		},
			idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Field("id"), OnDuplicate: reply.Kept}))
		c := w.client(reply.Config{})
		if _, err := w.call(c, Request{ID: "r-1"}); err != nil {
			w.Error(err)
		}
		began := time.Now()
		_, err := w.call(c, Request{ID: "r-1"})
		if e := answered(err); e == nil || !e.Permanent || !strings.Contains(e.Text, "its answer was not kept") {
			w.Errorf("%#v", err)
		}
		w.within(began, 10*time.Second)
		w.wantIdle("succeeded", "duplicate")
	})
}

// A request that failed permanently is answered with the same failure when it is repeated,
// and when SQS did not take the first answer. The function is called once.
func TestRepeatedRequest_GetsTheKeptFailure(t *testing.T) {
	boom := errors.New("no such product")
	want := reply.Error{Text: "no such product", Permanent: true}
	for name, cfg := range map[string]idempotency.Config{
		"with OnDuplicate":    {OnDuplicate: reply.Kept},
		"without OnDuplicate": {},
	} {
		for _, answerLost := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", the first answer is lost: ", answerLost), func(t *testing.T) {
				cfg.Key, cfg.KeepPermanent = idempotency.Field("id"), true
				inWorld(t, func(w *world) {
					var handled atomic.Int32
					w.serve(func(context.Context, Request) (Quote, error) {
						handled.Add(1)
						return Quote{}, batch.Permanent(boom)
					}, idempotency.New(idempotency.NewMemory(), cfg))
					c, first := w.opened(reply.Config{}), "succeeded" // the answer was sent
					if answerLost {
						w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "SendMessageBatch", Queue: w.replyQueue().Name, Code: "AccessDenied", Times: 1})
						first = "retry, succeeded"
					}
					for range 3 {
						began := time.Now()
						_, err := w.call(c, Request{ID: "r-1"})
						if e := answered(err); e == nil || *e != want {
							w.Errorf("%#v, want %#v", err, want)
						}
						w.within(began, 10*time.Second)
					}
					w.wantIdle(first, "duplicate", "duplicate")
					if handled.Load() != 1 {
						w.Errorf("handled %d times", handled.Load())
					}
				})
			})
		}
	}
}

// A failure of decoding is kept, too.
func TestRepeatedRequestOfAMalformedBody_GetsTheKeptFailure(t *testing.T) {
	inWorldWith(t, sqstest.Config{}, func(w *world) {
		w.serve(quote, idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Body, KeepPermanent: true}))
		c := w.client(reply.Config{})
		_, first := reply.Call[Quote](w.Context(), c, w.URL, []string{"secret"})
		_, second := reply.Call[Quote](w.Context(), c, w.URL, []string{"secret"})
		if a, b := answered(first), answered(second); a == nil || b == nil || *a != *b {
			w.Errorf("the second answer is %#v, want that of the first, %#v", second, first)
		}
		w.wantIdle("succeeded", "duplicate")
	})
}

// Around a Handler, idempotency completes a request before reply knows of it: a repeated one
// has no answer. The log says what to change.
func TestIdempotencyAroundTheHandler_IsWarnedOf(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handler = batch.Chain(reply.Handler(quote), idempotency.New(idempotency.NewMemory(), idempotency.Config{
			Key: idempotency.Field("id"), OnDuplicate: reply.Kept, KeepPermanent: true,
		}))
		w.Start()
		c := w.client(reply.Config{})
		w.mustCall(c, Request{ID: "r-1"})
		if _, err := w.call(c, Request{ID: "r-1"}); !errors.Is(err, context.DeadlineExceeded) {
			w.Error(err)
		}
		w.wantIdle("succeeded", "duplicate")
		w.wantLog("level=WARN")
		w.wantLog("reply.Handler")
	})
}

// Middleware that handles several requests with the context of one, as a chunk of package bulk
// does, must not give a caller the answer to another request.
func TestRequestsShareAContext_NoCallerGetsAnotherAnswer(t *testing.T) {
	for name, shared := range map[string]func(next batch.Handler) batch.Handler{
		"that of a chunk": func(next batch.Handler) batch.Handler {
			return bulk.JSON(func(ctx context.Context, items []bulk.Item[Request]) error {
				for i := range items {
					if err := next.Handle(ctx, items[i].Record); err != nil {
						items[i].Fail(err)
					}
				}
				return nil
			}, bulk.Config{MaxItems: 3})
		},
		"without values": func(next batch.Handler) batch.Handler {
			return batch.HandlerFunc(func(_ context.Context, r batch.Record) error { return next.Handle(context.Background(), r) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.serve(quote, shared)
				c := w.opened(reply.Config{})
				var all sync.WaitGroup
				for i := range 3 {
					all.Go(func() {
						id := fmt.Sprint("r-", i)
						q, err := w.call(c, Request{ID: id})
						if e := answered(err); q.For != id && (e == nil || !strings.Contains(e.Text, "the context is not that of the request")) {
							w.Errorf("%s: %+v, %v", id, q, err)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// An answer that cannot be sent is not lost, and its work is not done again.
func TestAnswerCannotBeSent_RequestComesBack(t *testing.T) {
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		var handled atomic.Int32
		w.serve(func(ctx context.Context, r Request) (Quote, error) {
			handled.Add(1)
			return quote(ctx, r)
		}, idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Field("id"), OnDuplicate: reply.Kept}))
		c := w.opened(reply.Config{})
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "SendMessageBatch", Queue: w.replyQueue().Name, Code: "AccessDenied", Times: 1})
		w.mustCall(c, Request{ID: "r-1"})
		w.wantIdle("retry, duplicate")
		if handled.Load() != 1 {
			w.Errorf("handled %d times", handled.Load())
		}
	})
}

func TestAnswerTooLarge_IsAPermanentError(t *testing.T) {
	inWorldWith(t, sqstest.Config{}, func(w *world) {
		w.serve(func(context.Context, Request) (Quote, error) { return Quote{strings.Repeat("x", 1<<20)}, nil })
		_, err := w.call(w.client(reply.Config{}), Request{ID: "r-1"})
		if e := answered(err); e == nil || !e.Permanent || !strings.Contains(e.Text, "too large") {
			w.Error(err)
		}
	})
}

// Anyone who may send requests must not choose which queues the handler writes to.
func TestRequestWithAWrongAttribute_IsDeadLettered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.serve(func(context.Context, Request) (Quote, error) {
			w.Error("the function was called")
			return Quote{}, nil
		})
		list := []string{"", `nonsense`, `{}`, fmt.Sprintf(`{"id":"x","to":%q}`, w.Server.QueueURL("sqsbatch-reply-x"))}
		for _, to := range []string{
			"", w.DeadLetterURL, w.DeadLetterURL + "#/sqsbatch-reply-x", w.DeadLetterURL + "?/sqsbatch-reply-x", w.DeadLetterURL + "/sqsbatch-reply-x",
			"http://h/sqsbatch-reply-x", "sqsbatch-reply-x", "arn:aws:sqs:us-east-1:1:sqsbatch-reply-x", "file:///1/sqsbatch-reply-x",
			"https://user@sqs.us-east-1.amazonaws.com/1/sqsbatch-reply-x", "https://sqs.eu-west-1.amazonaws.com/1/sqsbatch-reply-x",
			"https://sqs.cn-north-1.amazonaws.com.cn/1/sqsbatch-reply-x",
			"https://sqs.us-east-1.amazonaws.com/111122223333/sqsbatch-reply-x", "https://example.com/000000000001/sqsbatch-reply-x",
			"https://sqs.us-east-1.amazonaws.com/" + strings.Repeat("7", 1000) + "/sqsbatch-reply-x",
			"https://sqs." + strings.Repeat("x", 1000) + ".amazonaws.com/1/sqsbatch-reply-x", "https://h/1/" + strings.Repeat("x", 80),
			"https://h/1/secret\x1b[2J", "https://h/1/secret?token=secret", "http://secret:secret@h/1/sqsbatch-reply-x", "secret", "http://[secret",
		} {
			list = append(list, fmt.Sprintf(`{"id":"x","to":%q,"deadline":"2100-01-01T00:00:00Z"}`, to))
		}
		for _, attribute := range list {
			in := &awssqs.SendMessageInput{MessageBody: aws.String(`{"id":"r-1"}`)}
			if attribute != "" {
				in.MessageAttributes = map[string]types.MessageAttributeValue{"sqsbatch.request": {DataType: aws.String("String"), StringValue: &attribute}}
			}
			w.SendInput(in)
		}
		w.UntilIdle()
		for _, m := range w.Messages() {
			text := fmt.Sprint(m.Attempts[0].Err)
			if m.String() != "dead-letter" || !strings.Contains(text, "attribute sqsbatch.request: ") || strings.Contains(text, "secret") || len(text) > 250 {
				w.Errorf("%v: %v", m, text)
			}
		}
	})
}

// Callers of other accounts are answered if the configuration names their account. The answer
// goes through the handler's own endpoint, whatever host the request names.
func TestCallerOfAnotherAccount_IsAnsweredIfAllowed(t *testing.T) {
	inWorldWith(t, sqstest.Config{}, func(w *world) {
		const account = "111122223333"
		other := sqs.New(sqs.Config{AccountID: account})
		defer other.Close()
		if _, err := other.Client().CreateQueue(w.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("sqsbatch-reply-x")}); err != nil {
			w.Fatal(err)
		}
		w.handler = reply.Handler(quote, reply.HandlerConfig{SQS: other.Client(), Accounts: []string{account}})
		w.Start()
		w.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String(`{"id":"r-1"}`), MessageAttributes: map[string]types.MessageAttributeValue{"sqsbatch.request": {
			DataType: aws.String("String"), StringValue: aws.String(`{"id":"x","to":"https://example.com/111122223333/sqsbatch-reply-x","deadline":"2100-01-01T00:00:00Z"}`),
		}}})
		w.wantIdle("succeeded")
		calls := other.Calls("SendMessageBatch")
		if len(calls) != 1 || calls[0].Queue != "sqsbatch-reply-x" {
			w.Errorf("%+v", calls)
		}
	})
}

// A sender that names reply queues that do not exist holds up nobody else.
func TestManyRequestsNameQueuesThatAreNotThere_OthersAreAnsweredSoon(t *testing.T) {
	inBoth(t, sqstest.Config{Handler: handler.Config{Concurrency: 1}}, func(w *world) {
		w.serve(quote)
		c := w.opened(reply.Config{})
		outcomes := []string{}
		for i := range 50 {
			w.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String(`{"id":"r-1"}`), MessageAttributes: map[string]types.MessageAttributeValue{"sqsbatch.request": {
				DataType:    aws.String("String"),
				StringValue: aws.String(fmt.Sprintf(`{"id":"x","to":%q,"deadline":"2100-01-01T00:00:00Z"}`, w.Server.QueueURL(fmt.Sprint("sqsbatch-reply-", i)))),
			}}})
			outcomes = append(outcomes, "expired")
		}
		began := time.Now()
		w.mustCall(c, Request{ID: "r-1"})
		w.within(began, 10*time.Second)
		w.wantIdle(append(outcomes, "succeeded")...)
	})
}

// A message of package sender keeps its group and its attributes.
func TestCallWithAMessage_OnAFIFOQueue(t *testing.T) {
	inWorldWith(t, sqstest.Config{FIFO: true}, func(w *world) {
		w.serve(func(ctx context.Context, r Request) (Quote, error) {
			record, _ := batch.RecordFrom(ctx)
			return Quote{record.GroupID + record.MessageAttributes["tenant"].StringValue}, nil
		})
		m := sender.JSON(Request{ID: "r-1"})
		m.Group, m.Attributes = "g", map[string]batch.MessageAttribute{"tenant": {DataType: "String", StringValue: "t"}}
		q, err := reply.Call[Quote](w.Context(), w.client(reply.Config{}), w.URL, m)
		if err != nil || q.For != "gt" || len(m.Attributes) != 1 {
			w.Errorf("%+v, %v, %v", q, err, m.Attributes)
		}
	})
}

func TestReplyQueue_IsMadeOnceTaggedAndDeleted(t *testing.T) {
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		w.serve(quote)
		c, err := reply.NewClient(w.Client, reply.Config{Name: "shop", Tags: map[string]string{"team": "a"}, Attributes: map[string]string{"KmsMasterKeyId": "alias/x"}})
		if err != nil {
			w.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() { w.mustCall(c, Request{ID: fmt.Sprint(i)}) })
		}
		all.Wait()
		q := w.replyQueue()
		if !strings.HasPrefix(q.Name, "sqsbatch-reply-shop-") {
			w.Error(q.Name)
		}
		url := w.Server.QueueURL(q.Name)
		out, err := w.Client.GetQueueAttributes(w.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil || out.Attributes["MessageRetentionPeriod"] != "300" || out.Attributes["KmsMasterKeyId"] != "alias/x" {
			w.Errorf("%v, %v", out, err)
		}

		alive := func() time.Duration {
			out, err := w.Client.ListQueueTags(w.Context(), &awssqs.ListQueueTagsInput{QueueUrl: &url})
			if err != nil || out.Tags["team"] != "a" {
				w.Fatal(err, out)
			}
			at, err := time.Parse(time.RFC3339, out.Tags[reply.AliveTag])
			if err != nil {
				w.Fatal(err)
			}
			return time.Since(at)
		}
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "TagQueue", Times: 6}) // two calls, with the SDK's retries
		for range 12 {
			time.Sleep(10 * time.Minute)
			if age := alive(); age > 7*time.Minute {
				w.Errorf("the tag is %v old", age)
			}
		}
		if n := w.calls("ReceiveMessage"); n > 2 {
			w.Errorf("%d receives for 5 calls and two hours without one", n)
		}
		if err := c.Close(w.Context()); err != nil || len(w.replyQueues()) != 0 {
			w.Errorf("%v, %d reply queues are left", err, len(w.replyQueues()))
		}
		if _, err := w.call(c, Request{}); !errors.Is(err, reply.ErrClosed) {
			w.Error(err)
		}
		if err := errors.Join(c.Close(w.Context()), w.Context().Err()); err != nil {
			w.Error(err)
		}
	})
}

// Close does not wait for SQS to take requests again, nor sends them when their callers have
// gone.
func TestClose_EndsCalls(t *testing.T) {
	for name, c := range map[string]struct {
		faults []sqs.Fault
		sent   int
	}{
		"that wait for answers": {nil, 3},
		"that cannot be sent":   {[]sqs.Fault{{Kind: sqs.Failure, Operation: "SendMessageBatch"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWith(t, sqstest.Config{}, func(w *world) {
				w.inject(c.faults...)
				client := w.client(reply.Config{Timeout: time.Hour})
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						if _, err := w.call(client, Request{}); !errors.Is(err, reply.ErrClosed) {
							w.Error(err)
						}
					})
				}
				time.Sleep(10 * time.Second)
				began := time.Now()
				if err := client.Close(w.Context()); err != nil {
					w.Error(err)
				}
				w.within(began, time.Second)
				all.Wait()
				w.Server.ClearFaults()
				time.Sleep(time.Minute)
				if n := len(w.Messages()); n != c.sent {
					w.Errorf("%d requests were sent, want %d", n, c.sent)
				}
			})
		})
	}
}

// While the queue is made, calls wait for it by their own contexts.
func TestQueueIsMadeSlowly_CallersShareIt(t *testing.T) {
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		w.serve(quote)
		w.inject(sqs.Fault{Kind: sqs.Latency, Latency: 3 * time.Second, Operation: "CreateQueue"})
		c := w.client(reply.Config{})
		short, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, err := reply.Call[Quote](short, c, w.URL, Request{}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "is not ready") {
			w.Error(err)
		}
		w.mustCall(c, Request{ID: "r-1"})
		w.replyQueue()
	})
}

func TestReplyQueueIsDeleted_CallsEndAndTheNextMakesANewOne(t *testing.T) {
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		w.serve(quote)
		c := w.client(reply.Config{Timeout: 10 * time.Minute})
		w.mustCall(c, Request{ID: "r-1"})
		time.Sleep(2 * time.Minute)
		old := w.replyQueue().Name
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := w.call(c, Request{ID: "r-2", Takes: 5 * time.Minute}); !errors.Is(err, reply.ErrQueueGone) {
				w.Error(err)
			}
		})
		time.Sleep(time.Second)
		w.deleteReplyQueue()
		all.Wait()
		w.mustCall(c, Request{ID: "r-3"})
		if name := w.replyQueue().Name; name == old {
			w.Error(name)
		}
	})
}

// SQS has taken the request, but its answer to the sender never came.
func TestRequestIsSentWithoutConfirmation_TheAnswerCounts(t *testing.T) {
	withClient(t, func(w *world, c *reply.Client) {
		w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Queue: "orders"})
		began := time.Now()
		w.mustCall(c, Request{ID: "r-1"})
		w.within(began, time.Second)
		w.Server.ClearFaults()
	})
}

// A new queue may not be known to all of SQS for a moment.
func TestNewQueueIsNotFound_CallsGoOn(t *testing.T) {
	withClient(t, func(w *world, c *reply.Client) {
		for _, operation := range []string{"ReceiveMessage", "SendMessageBatch"} {
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: operation, Code: "QueueDoesNotExist", Queue: w.replyQueue().Name, Times: 2})
		}
		w.mustCall(c, Request{ID: "r-1"})
	})
}

// A queue that is deleted while no call waits costs no call: the next tag finds it out.
func TestIdleReplyQueueIsDeleted_TheNextCallHasANewOne(t *testing.T) {
	inWorldWith(t, sqstest.Config{Container: true}, func(w *world) {
		w.serve(quote)
		c := w.client(reply.Config{})
		w.mustCall(c, Request{ID: "r-1"})
		time.Sleep(2 * time.Minute)
		w.deleteReplyQueue()
		time.Sleep(5 * time.Minute)
		w.mustCall(c, Request{ID: "r-2"})
		w.deleteReplyQueue() // and Close finds none
	})
}

// One receiver would take 2 s for a thousand answers here.
func TestManyAnswers_AreReceivedSideBySide(t *testing.T) {
	calls := manyCalls(t)
	withClient(t, func(w *world, c *reply.Client) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Latency: 20 * time.Millisecond, Operation: "ReceiveMessage", Queue: w.replyQueue().Name})
		began := time.Now()
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() { w.mustCall(c, Request{ID: fmt.Sprint(i)}) })
		}
		all.Wait()
		w.within(began, time.Second)
	})
}

// The caller does not hear of it, so the log does.
func TestAnswerCannotBeSentUntilTheCallerGivesUp_IsWarnedOf(t *testing.T) {
	inWorld(t, func(w *world) {
		w.serve(quote)
		c := w.opened(reply.Config{Timeout: 5 * time.Second})
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "SendMessageBatch", Queue: w.replyQueue().Name})
		if _, err := w.call(c, Request{ID: "r-1"}); !errors.Is(err, context.DeadlineExceeded) {
			w.Error(err)
		}
		w.wantIdle("expired")
		w.wantLog(`level=WARN msg="the answer could not be sent before the caller gave up"`)
	})
}

func TestRefusedCalls_SayWhatIsMissing(t *testing.T) {
	for operation, want := range map[string]string{"CreateQueue": "sqs:CreateQueue and sqs:TagQueue", "ReceiveMessage": "sqs:ReceiveMessage", "SendMessageBatch": "AccessDenied"} {
		inWorldWith(t, sqstest.Config{}, func(w *world) {
			c := w.client(reply.Config{})
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: operation, Code: "AccessDenied"})
			began := time.Now()
			_, err := w.call(c, Request{})
			if err == nil || !strings.Contains(err.Error(), want) || time.Since(began) > 5*time.Second {
				w.Errorf("%s: after %v: %v", operation, time.Since(began), err)
			}
			w.Server.ClearFaults()
		})
	}
}

// SQS may hand out answers whose receive then breaks off. They are hidden for a moment only, so
// that the calls get them long before their time is over.
func TestAnswerOfAReceiveIsLost_TheCallHasItsAnswerSoon(t *testing.T) {
	for _, lost := range []int{1, 3} {
		withClient(t, func(w *world, c *reply.Client) {
			w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "ReceiveMessage", Queue: w.replyQueue().Name, Times: lost})
			began := time.Now()
			w.mustCall(c, Request{ID: "r-1"})
			w.within(began, time.Duration(lost)*3*time.Second)
			if n := w.calls("ReceiveMessage"); n <= lost {
				w.Errorf("%d receives: the fault had no effect", n)
			}
			time.Sleep(time.Minute)
			if q := w.replyQueue(); len(q.Messages) != 0 {
				w.Errorf("%d answers are left", len(q.Messages))
			}
		})
	}
}

// A delete whose answer takes longer than the answers are hidden has them come once more. They
// are dropped.
func TestDeleteOfAnAnswerIsSlow_TheSecondCopyIsDropped(t *testing.T) {
	withClient(t, func(w *world, c *reply.Client) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: "DeleteMessageBatch", Queue: w.replyQueue().Name, Latency: 5 * time.Second, Times: 1})
		w.mustCall(c, Request{ID: "r-1"})
		w.mustCall(c, Request{ID: "r-2", Takes: 4 * time.Second})
		if n := w.calls("ReceiveMessage"); n > 4 {
			w.Errorf("%d receives for two calls", n)
		}
		time.Sleep(time.Minute)
		if q := w.replyQueue(); len(q.Messages) != 0 {
			w.Errorf("%d answers are left", len(q.Messages))
		}
	})
}

// The error of a call that had no answer says so if answers could not be received, unless that
// was only for a moment.
func TestReceivesFail_TheCallSaysSo(t *testing.T) {
	for _, c := range []struct {
		fault sqs.Fault
		says  bool
	}{
		{sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage"}, true},
		{sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Code: "AccessDenied", Times: 2}, false},
	} {
		inWorldWith(t, sqstest.Config{}, func(w *world) {
			w.inject(c.fault)
			_, err := w.call(w.client(reply.Config{}), Request{})
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "answers cannot be received") != c.says {
				w.Error(err)
			}
			if n := w.calls("ReceiveMessage"); c.says && (n < 5 || n > 30) {
				w.Errorf("%d receives in 30 s", n)
			}
		})
	}
}

func TestQueueOfACallerThatIsGone_MakesTheRequestExpire(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client(reply.Config{})
		var all sync.WaitGroup
		all.Go(func() { _, _ = w.call(c, Request{ID: "r-1", Takes: 2 * time.Second}) })
		w.serve(quote)
		time.Sleep(2 * time.Second) // a second to make the queue, and one of the handler
		if err := c.Close(w.Context()); err != nil {
			w.Error(err)
		}
		all.Wait()
		w.wantIdle("expired")
	})
}

func TestConfiguration_IsChecked(t *testing.T) {
	inWorldWith(t, sqstest.Config{}, func(w *world) {
		for want, cfg := range map[string]reply.Config{
			`Name is "a b"`:       {Name: "a b"},
			`Prefix is "`:         {Prefix: strings.Repeat("x", 21)},
			"Timeout is 1ms":      {Timeout: time.Millisecond},
			"Linger is -1ns":      {Sender: sender.Config{Linger: -1}},
			"ContentBasedDedupli": {Sender: sender.Config{ContentBasedDeduplication: true}},
		} {
			if _, err := reply.NewClient(w.Client, cfg); err == nil || !strings.Contains(err.Error(), want) {
				w.Errorf("%v, want %s", err, want)
			}
		}
		if _, err := reply.NewClient(nil, reply.Config{}); err == nil {
			w.Error("a nil client was accepted")
		}
	})
	var none func(context.Context, Request) (Quote, error)
	if reply.Handler(none) != nil {
		t.Error("a handler of nil")
	}
	h := reply.Handler(quote, reply.HandlerConfig{Prefix: "a b"})
	if err := h.(interface{ Validate() error }).Validate(); err == nil || !strings.Contains(err.Error(), `Prefix is "a b"`) {
		t.Error(err)
	}
	if err := reply.Handler(quote).(interface{ Validate() error }).Validate(); err != nil {
		t.Error(err)
	}
}

func TestClientOnLambda_IsRefused(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	if _, err := reply.NewClient(awssqs.New(awssqs.Options{}), reply.Config{}); !errors.Is(err, reply.ErrOnLambda) {
		t.Error(err)
	}
}
