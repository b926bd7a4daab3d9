package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// refused ends the check unless the service said no and blamed the client:
// what it must do where AWS's documentation names no error.
func (e *env) refused(what string, err error) {
	if err == nil {
		e.fail("%s: want a refusal, got success", what)
	}
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPStatusCode()/100 != 4 {
		e.fail("%s: want a refusal with an HTTP status of 400 to 499, got %w", what, err)
	}
}

// refusedAs ends the check unless err is the SDK's error type E.
func refusedAs[E smithy.APIError](e *env, what string, err error) {
	e.refused(what, err)
	var wanted E
	if !errors.As(err, &wanted) {
		e.fail("%s: want the error type %T, got %w", what, wanted, err)
	}
}

// withField puts a value into a request's JSON. The SDK leaves out numbers that
// are zero, though for SQS a zero is not the same as nothing.
func withField(name string, value any) func(*awssqs.Options) {
	build := middleware.BuildMiddlewareFunc("ConformanceField", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (
		middleware.BuildOutput, middleware.Metadata, error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return middleware.BuildOutput{}, middleware.Metadata{}, errors.New("checks: the SDK's request is not of HTTP")
		}
		fields := map[string]any{}
		if err := json.NewDecoder(request.GetStream()).Decode(&fields); err != nil {
			return middleware.BuildOutput{}, middleware.Metadata{}, err
		}
		fields[name] = value
		body, err := json.Marshal(fields)
		if err == nil {
			in.Request, err = request.SetStream(bytes.NewReader(body))
		}
		if err != nil {
			return middleware.BuildOutput{}, middleware.Metadata{}, err
		}
		return next.HandleBuild(ctx, in)
	})
	return func(o *awssqs.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Build.Add(build, middleware.Before)
		})
	}
}

// answer is an HTTP answer as it came.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// recorded keeps the answer to a call.
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
