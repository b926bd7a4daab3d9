package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
)

const day = 24 * time.Hour

// epoch is where virtual time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func claimOf(owner string, lease time.Duration) idempotency.Claim {
	return idempotency.Claim{Key: "orders#1", Owner: owner, Lease: lease, Remember: day, Content: "c0ffee"}
}

func (f *fakeDynamoDB) want(t *testing.T, want map[string]string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	got := map[string]string{}
	for _, item := range f.items {
		for name, typed := range item {
			got[name] = strings.Join(only(typed), " ")
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the item is\n%v, want\n%v", got, want)
	}
}

// put has the item of the key orders#1.
func (f *fakeDynamoDB) put(item attributes) {
	item["id"] = map[string]any{"S": "orders#1"}
	f.items[`"orders#1"`] = item
}

// validated is the error with which a handler with the store does not start.
func validated(store idempotency.Store) error {
	h := idempotency.New(store, idempotency.Config{Key: idempotency.MessageID})(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }))
	return h.(interface{ Validate() error }).Validate()
}

// The items are Powertools', with two attributes more.
func TestItem_HasPowertoolsAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		store := dynamostore.New(f.client(), "idempotency")
		if _, err := store.Claim(t.Context(), claimOf("A", 90*time.Second+1)); err != nil {
			t.Fatal(err)
		}
		begin := epoch.Unix()
		want := map[string]string{
			"id": "S orders#1", "status": "S INPROGRESS", "validation": "S c0ffee", "owner": "S A", "remember": "N 86400",
			"in_progress_expiration": fmt.Sprintf("N %d", begin*1000+90_001), "expiration": fmt.Sprintf("N %d", begin+86_400+91),
		}
		f.want(t, want)
		time.Sleep(30 * time.Second)
		if err := store.Renew(t.Context(), "orders#1", "A", 90*time.Second); err != nil {
			t.Fatal(err)
		}
		want["in_progress_expiration"], want["expiration"] = fmt.Sprintf("N %d", begin*1000+120_000), fmt.Sprintf("N %d", begin+86_400+120)
		f.want(t, want)
		if err := store.Complete(t.Context(), "orders#1", "A", idempotency.Completion{Result: []byte(`{"n":1}`), Content: "c0ffee", Remember: time.Hour}); err != nil {
			t.Fatal(err)
		}
		want["status"], want["data"], want["expiration"] = "S COMPLETED", `S {"n":1}`, fmt.Sprintf("N %d", begin+30+3600)
		f.want(t, want)
		if want := []string{"PutItem", "UpdateItem", "UpdateItem"}; !slices.Equal(f.calls, want) {
			t.Errorf("calls %v, want %v", f.calls, want)
		}
	})
}

// What Powertools for Python has written is in progress or completed for us, too.
func TestItemOfPowertools_IsUnderstood(t *testing.T) {
	now := epoch.Unix()
	for name, c := range map[string]struct {
		item attributes
		want idempotency.Found
	}{
		"completed": {
			attributes{"status": {"S": "COMPLETED"}, "expiration": {"N": fmt.Sprint(now + 60)}, "data": {"S": `"done"`}, "in_progress_expiration": {"N": fmt.Sprint(now * 1000)}},
			idempotency.Found{State: idempotency.Completed, Result: []byte(`"done"`)},
		},
		"completed by TypeScript": {
			attributes{"status": {"S": "COMPLETED"}, "expiration": {"N": fmt.Sprint(now + 60)}, "data": {"M": map[string]any{
				"id": map[string]any{"S": "o-1"}, "n": map[string]any{"N": "1.50"}, "ok": map[string]any{"BOOL": true},
				"list": map[string]any{"L": []any{map[string]any{"NULL": true}, map[string]any{"N": "2"}}},
			}}},
			idempotency.Found{State: idempotency.Completed, Result: []byte(`{"id":"o-1","list":[null,2],"n":1.50,"ok":true}`)},
		},
		"in progress": {
			attributes{"status": {"S": "INPROGRESS"}, "expiration": {"N": fmt.Sprint(now + 60)}, "in_progress_expiration": {"N": fmt.Sprint(now*1000 + 5500)}},
			idempotency.Found{State: idempotency.InProgress, Left: 5500 * time.Millisecond},
		},
		"in progress without an end": {
			attributes{"status": {"S": "INPROGRESS"}, "expiration": {"N": fmt.Sprint(now + 60)}},
			idempotency.Found{State: idempotency.InProgress, Left: time.Minute},
		},
		"has timed out": {
			attributes{"status": {"S": "INPROGRESS"}, "expiration": {"N": fmt.Sprint(now + 60)}, "in_progress_expiration": {"N": fmt.Sprint(now*1000 - 1)}},
			idempotency.Found{State: idempotency.Claimed},
		},
		"is expired, and not deleted yet": {
			attributes{"status": {"S": "COMPLETED"}, "expiration": {"N": fmt.Sprint(now - 1)}, "data": {"S": "old"}},
			idempotency.Found{State: idempotency.Claimed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.put(c.item)
				found, err := dynamostore.New(f.client(), "idempotency").Claim(t.Context(), claimOf("A", time.Minute))
				if err != nil || found.State != c.want.State || found.Left != c.want.Left || string(found.Result) != string(c.want.Result) {
					t.Errorf("found %+v, %v; want %+v", found, err, c.want)
				}
				if !slices.Equal(f.calls, []string{"PutItem"}) {
					t.Errorf("calls %v, want one PutItem", f.calls)
				}
			})
		})
	}
}

func TestForeignItem_IsAnError(t *testing.T) {
	for name, item := range map[string]attributes{
		`"status" is "SHIPPED"`: {"status": {"S": "SHIPPED"}},
		`"status" is ""`:        {"total": {"N": "1"}},
		`"data" has a set`:      {"status": {"S": "COMPLETED"}, "data": {"M": map[string]any{"a": map[string]any{"SS": []string{"x"}}}}},
	} {
		f := newFake()
		f.put(item)
		_, err := dynamostore.New(f.client(), "orders").Claim(t.Context(), claimOf("A", time.Minute))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `PutItem in table "orders"`) {
			t.Errorf("%v: want %s", err, name)
		}
	}
}

// B's clock is 1 s ahead. It must not begin before A's time is over.
func TestSkewedClock_TakesNothingOverWithinGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		slow, fast := dynamostore.New(f.client(), "idempotency"), dynamostore.New(f.client(), "idempotency")
		fast.SetClock(func() time.Time { return time.Now().Add(time.Second) })
		run := func(store idempotency.Store, do func(ctx context.Context) error) error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			h := idempotency.New(store, idempotency.Config{Key: idempotency.MessageID})(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error { return do(ctx) }))
			return h.Handle(ctx, batch.Record{MessageID: "1", QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"})
		}
		running := false
		done := make(chan error, 1)
		go func() {
			done <- run(slow, func(ctx context.Context) error {
				running = true
				<-ctx.Done() // at its deadline
				running = false
				<-t.Context().Done() // it was killed
				return ctx.Err()
			})
		}()
		synctest.Wait()
		began := time.Now()
		took := false
		for !took && time.Since(began) < time.Minute {
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			_ = run(fast, func(context.Context) error {
				took = true
				if running {
					t.Errorf("taken over after %v while the other has time left", time.Since(began))
				}
				return nil
			})
		}
		if !took || time.Since(began) > 12*time.Second {
			t.Errorf("taken over: %v, after %v", took, time.Since(began))
		}
		go func() { <-done }()
	})
}

// hanging answers when the request's context ends.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.ReadAll(r.Body)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestServerThatHangs_CallsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dynamostore.New(clientOf(hanging{}, "http://dynamodb.test"), "idempotency")
		for operation, call := range calls(store) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			began := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `table "idempotency"`) || time.Since(began) != 3*time.Second {
				t.Errorf("%s: %v after %v", operation, err, time.Since(began))
			}
			cancel()
		}
	})
}

// calls are one of each operation.
func calls(store *dynamostore.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"PutItem": func(ctx context.Context) error {
			_, err := store.Claim(ctx, claimOf("A", time.Minute))
			return err
		},
		"UpdateItem": func(ctx context.Context) error { return store.Renew(ctx, "orders#1", "A", time.Minute) },
		"UpdateItem at the end": func(ctx context.Context) error {
			return store.Complete(ctx, "orders#1", "A", idempotency.Completion{Result: []byte("secret"), Remember: day})
		},
		"DeleteItem": func(ctx context.Context) error { return store.Release(ctx, "orders#1", "A") },
	}
}

// failing answers with an error of DynamoDB's.
type failing struct{ kind string }

func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#` + f.kind + `","message":"of DynamoDB's"}`)),
	}, err
}

func TestErrors_NameOperationAndTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []string{"ResourceNotFoundException", "AccessDeniedException", "ThrottlingException"} {
			store := dynamostore.New(clientOf(failing{kind}, "http://dynamodb.test"), "idempotency")
			for operation, call := range calls(store) {
				operation, _, _ = strings.Cut(operation, " ")
				err := call(t.Context())
				if err == nil || errors.Is(err, idempotency.ErrNotOwner) {
					t.Errorf("%s: %v", operation, err)
				}
				text := fmt.Sprint(err)
				if !strings.Contains(text, "dynamostore: "+operation+` in table "idempotency": `) || !strings.Contains(text, kind) || strings.Contains(text, "orders#1") || strings.Contains(text, "secret") {
					t.Errorf("%s: %v", operation, err)
				}
				if _, is := errors.AsType[*types.ResourceNotFoundException](err); is != (kind == "ResourceNotFoundException") {
					t.Errorf("%v does not wrap the client's error", err)
				}
			}
		}
	})
}

func TestKeysAndResultsThatDoNotFit_AreErrors(t *testing.T) {
	f := newFake()
	store := dynamostore.New(f.client(), "idempotency")
	for key, part := range map[string]string{
		"": "the key has 0 bytes", strings.Repeat("x", 1025): "the key has 1025 bytes", "a\xff": "not valid UTF-8",
	} {
		if _, err := store.Claim(t.Context(), idempotency.Claim{Key: key, Owner: "A"}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: want %q", err, part)
		}
	}
	err := store.Complete(t.Context(), "orders#1", "A", idempotency.Completion{Result: make([]byte, 400<<10)})
	if err == nil || !strings.Contains(err.Error(), "the result has 409600 bytes") || !strings.Contains(err.Error(), "may have 405504") {
		t.Errorf("%v", err)
	}
	if len(f.calls) != 0 {
		t.Errorf("calls %v", f.calls)
	}
}

// A pointer that is nil is refused at the start, and not by a panic in each record.
func TestNilPointers_AreRefused(t *testing.T) {
	var none *dynamostore.Store
	var client *dynamodb.Client
	for want, store := range map[string]idempotency.Store{
		"idempotency: the store is nil":  none,
		"dynamostore: the client is nil": dynamostore.New(client, "orders"),
	} {
		if err := validated(store); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestOptions_AreChecked(t *testing.T) {
	store := dynamostore.New(nil, "", dynamostore.Config{SortKey: "sk", Data: "status"})
	_, claiming := store.Claim(t.Context(), claimOf("A", time.Minute))
	for name, err := range map[string]error{
		"New": store.Validate(), "the handler's start": validated(store), "a call": claiming,
	} {
		for _, part := range []string{"the client is nil", "name of the table is empty", `SortKey is "sk" and Partition is ""`, `two attributes have the name "status"`} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s: %v: want %q", name, err, part)
			}
		}
	}
}
