package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// event is what Lambda gives the function, read as far as mutants need it.
type event struct{ Records []map[string]any }

func (e event) bytes() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return b
}

func readEvent(payload []byte) (e event) {
	if err := json.Unmarshal(payload, &e); err != nil {
		panic(err)
	}
	return e
}

type failure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

type report struct {
	BatchItemFailures []failure `json:"batchItemFailures"`
}

func readReport(response []byte) (r report) {
	r.BatchItemFailures = []failure{}
	_ = json.Unmarshal(response, &r)
	return r
}

// invoking is a mutant that invokes the function in its own way.
func invoking(invoke func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error)) Mutant {
	return Mutant{Invoke: func(next Invoke, connection http.RoundTripper) Invoke {
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			return invoke(ctx, payload, next, connection)
		}
	}}
}

// wire is a mutant that makes calls to SQS in its own way.
func wire(call func(r *http.Request, next http.RoundTripper) (*http.Response, error)) Mutant {
	return Mutant{Transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return call(r, next) })
	}}
}

// respond is a mutant that changes the response.
func respond(change func(report, event) report) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if err != nil {
			return nil, err
		}
		return json.Marshal(change(readReport(response), readEvent(payload)))
	})
}

// ask is a mutant that changes the function's calls of an operation.
func ask(operation string, change func(call map[string]any)) Mutant {
	return wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isCall(r, operation) {
			return next.RoundTrip(r)
		}
		call := body(r)
		change(call)
		return next.RoundTrip(with(r, call))
	})
}

func isCall(r *http.Request, operation string) bool {
	return r.Header.Get("X-Amz-Target") == "AmazonSQS."+operation
}

// confirmed is an answer by which every entry of a batch call succeeded.
func confirmed(r *http.Request) *http.Response {
	var answer struct{ Successful []any }
	for _, e := range entries(body(r)) {
		answer.Successful = append(answer.Successful, map[string]any{"Id": e["Id"]})
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b)), Request: r}
}

func body(r *http.Request) (call map[string]any) {
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(b, &call)
	}
	if err != nil {
		panic(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return call
}

func with(r *http.Request, call map[string]any) *http.Request {
	b, err := json.Marshal(call)
	if err != nil {
		panic(err)
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return r
}

func entries(call map[string]any) (list []map[string]any) {
	for _, e := range call["Entries"].([]any) {
		list = append(list, e.(map[string]any))
	}
	return list
}

// request is one to SQS.
func request(ctx context.Context, operation string, call map[string]any) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sqs/", http.NoBody)
	if err != nil {
		panic(err)
	}
	r = with(r, call)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	return r
}

// tell makes a call whose answer does not matter.
func tell(connection http.RoundTripper, r *http.Request) {
	if response, err := connection.RoundTrip(r); err == nil {
		_ = response.Body.Close()
	}
}

// queueURL is that of a record's queue.
func queueURL(record map[string]any) string {
	arn := strings.Split(record["eventSourceARN"].(string), ":")
	return "http://sqs/" + arn[4] + "/" + arn[5]
}

// hide is a request that hides an event's records for a time.
func hide(ctx context.Context, e event, seconds int) *http.Request {
	var list []any
	for i, r := range e.Records[:min(10, len(e.Records))] {
		list = append(list, map[string]any{"Id": strconv.Itoa(i), "ReceiptHandle": r["receiptHandle"], "VisibilityTimeout": seconds})
	}
	return request(ctx, "ChangeMessageVisibilityBatch", map[string]any{"QueueUrl": queueURL(e.Records[0]), "Entries": list})
}
