package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// env is the environment of a check: the client, and the check's queues. Like testing.T's
// Fatal, the methods end the check after an unexpected result, so that a check is a plain
// sequence of calls. Call them only from the check's goroutine.
type env struct {
	*awssqs.Client
	ctx    context.Context
	config Config
	stem   string // start of the names of this check's queues

	created []string // URLs, for deleteQueues
	names   int
}

// failure is the panic value that ends a check.
type failure struct{ err error }

func (e *env) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// try runs a check and returns its error, nil if it passed.
func (e *env) try(run func(*env)) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			err = fmt.Errorf("the check itself panicked, on an answer that nothing allows for: %v\n%s", r, debug.Stack())
		}
	}()
	run(e)
	return nil
}

// must returns the answer of a call, and ends the check if the call failed.
func must[T any](answer T, err error) T {
	if err != nil {
		panic(failure{fmt.Errorf("want success, got %w", err)})
	}
	return answer
}

func errOf(_ any, err error) error { return err }

// must ends the check if a call failed.
func (e *env) must(what string, err error) {
	if err != nil {
		e.fail("%s: want success, got %w", what, err)
	}
}

// want ends the check unless got equals want.
func want[T comparable](e *env, what string, got, want T) {
	if got != want {
		e.fail("%s: want %v, got %v", what, show(want), show(got))
	}
}

// show returns a value for errors: strings are quoted, and long ones cut.
func show(v any) string {
	text, ok := v.(string)
	if !ok {
		return fmt.Sprint(v)
	}
	if len(text) > 300 {
		return fmt.Sprintf("%q… (%d bytes)", text[:300], len(text))
	}
	return fmt.Sprintf("%q", text)
}

func (e *env) sleep(d time.Duration) {
	if !sleep.For(e.ctx, d) {
		e.fail("stopped while it waited: %w", e.ctx.Err())
	}
}

// eventually polls until look returns true, and ends the check after the configured
// patience. got is the last result.
func (e *env) eventually(what string, look func() (got string, ok bool)) {
	deadline := time.Now().Add(e.config.Patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		got, ok := look()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			e.fail("%s: not within %v; last seen: %s", what, e.config.Patience, got)
		}
		e.sleep(pause)
	}
}

// name returns a new queue name, unique to this check.
func (e *env) name() string {
	e.names++
	return fmt.Sprintf("%s-%d", e.stem, e.names)
}

// create creates a queue, which is deleted after the check, and returns the service's answer.
func (e *env) create(name string, attributes map[string]string, options ...func(*awssqs.CreateQueueInput)) (*queue, error) {
	out, err := e.CreateQueue(e.ctx, with(&awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes}, options))
	if err != nil {
		return nil, err
	}
	if out.QueueUrl == nil || *out.QueueUrl == "" {
		return nil, errors.New("CreateQueue answered without a QueueUrl")
	}
	e.created = append(e.created, *out.QueueUrl)
	if e.config.Settle > 0 {
		e.sleep(e.config.Settle)
	}
	return &queue{env: e, name: name, url: out.QueueUrl}, nil
}

// queue creates a standard queue. Attributes are name, value, name, value.
func (e *env) queue(attributes ...string) *queue {
	return must(e.create(e.name(), pairs(attributes)))
}

func (e *env) fifo(attributes ...string) *queue {
	return must(e.create(e.name()+".fifo", pairs(append(attributes, "FifoQueue", "true"))))
}

func (e *env) kind(fifo bool, attributes ...string) *queue {
	if fifo {
		return e.fifo(attributes...)
	}
	return e.queue(attributes...)
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// deleteQueues deletes the check's queues, also after the end of its context.
func (e *env) deleteQueues() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 30*time.Second)
	defer cancel()
	var all error
	for _, url := range e.created {
		_, err := e.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: aws.String(url)})
		if err != nil && !isNoQueue(err) {
			all = errors.Join(all, fmt.Errorf("queue %s is left: %w", url, err))
		}
	}
	return all
}

// isNoQueue reports whether err is about a queue that does not exist, also with another
// error type.
func isNoQueue(err error) bool {
	text := err.Error()
	return strings.Contains(text, "QueueDoesNotExist") || strings.Contains(text, "NonExistentQueue")
}

// refused ends the check unless the service answered with an error of the client, for calls
// without an error type in AWS's documentation.
func (e *env) refused(what string, err error) {
	if err == nil {
		e.fail("%s: want a refusal, got success", what)
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); !ok || answer.HTTPStatusCode()/100 != 4 {
		e.fail("%s: want a refusal with an HTTP status of 400 to 499, got %w", what, err)
	}
}

// bounds ends the check unless a call accepts the good numbers and refuses the bad ones.
func (e *env) bounds(parameter string, good, bad []int32, call func(n int32) error) {
	for _, n := range good {
		e.must(fmt.Sprintf("%s %d", parameter, n), call(n))
	}
	for _, n := range bad {
		e.refused(fmt.Sprintf("%s %d", parameter, n), call(n))
	}
}

// refusedAs ends the check unless err is the SDK's error type E.
func refusedAs[E smithy.APIError](e *env, what string, err error) {
	e.refused(what, err)
	if wanted, ok := errors.AsType[E](err); !ok {
		e.fail("%s: want the error type %T, got %w", what, wanted, err)
	}
}

// withField sets a value in a request's JSON. The SDK leaves out zeros, which have a
// meaning for SQS.
func withField(name string, value any) func(*awssqs.Options) {
	build := middleware.BuildMiddlewareFunc("ConformanceField", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (
		middleware.BuildOutput, middleware.Metadata, error) {
		request := in.Request.(*smithyhttp.Request) // of HTTP, as the SDK's are
		fields := map[string]any{}
		if err := json.NewDecoder(request.GetStream()).Decode(&fields); err != nil {
			return middleware.BuildOutput{}, middleware.Metadata{}, err
		}
		fields[name] = value
		in.Request = must(request.SetStream(bytes.NewReader(must(json.Marshal(fields)))))
		return next.HandleBuild(ctx, in)
	})
	return func(o *awssqs.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Build.Add(build, middleware.Before)
		})
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// recorded stores the answer to a call.
func recorded(into *answer) func(*awssqs.Options) {
	return func(o *awssqs.Options) { o.HTTPClient = recorder{o.HTTPClient, into} }
}

type recorder struct {
	client awssqs.HTTPClient
	into   *answer
}

func (r recorder) Do(request *http.Request) (*http.Response, error) {
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	*r.into = answer{response.StatusCode, response.Header, body}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
