package awserr_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/awserr"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// service answers every call with the error that the function's body names.
type service struct{ body string }

func (s service) RoundTrip(r *http.Request) (*http.Response, error) {
	switch s.body {
	case "throttled":
		response, err := testqueue.Answer(r, 400, "RequestThrottled", "")
		response.Header.Set("Retry-After", "7")
		return response, err
	case "down":
		return testqueue.Answer(r, 503, "", "<html>")
	case "denied":
		return testqueue.Answer(r, 403, "AccessDeniedException", "")
	case "nowhere":
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
	}
	return testqueue.Answer(r, 400, s.body, "")
}

// What the queue sees of a function that returns the errors of AWS's SDK as
// they come.
func TestWhatBecomesOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		begin, calls := time.Now(), map[string][]int{} // when, in seconds
		h, err := handler.New(batch.Text(func(ctx context.Context, body string) error {
			calls[body] = append(calls[body], int(time.Since(begin)/time.Second))
			client := awssqs.New(q.Client.Options(), func(o *awssqs.Options) {
				o.Retryer, o.HTTPClient = aws.NopRetryer{}, &http.Client{Transport: service{body}}
				if body == "no credentials" {
					o.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
						_, err := awssqs.New(o.Copy(), func(o *awssqs.Options) {
							o.Credentials, o.HTTPClient = q.Client.Options().Credentials, &http.Client{Transport: service{"denied"}}
						}).ListQueues(ctx, nil)
						return aws.Credentials{}, err
					})
				}
			})
			in := &awssqs.SendMessageInput{QueueUrl: aws.String("https://sqs.eu-west-1.amazonaws.com/1/q"), MessageBody: &body}
			if body == "invalid" {
				in.MessageBody = nil
			}
			_, err := client.SendMessage(ctx, in)
			return err
		}), handler.Config{
			SQS: q.Client, Concurrency: 1, Backoff: partialfailure.Constant(3 * time.Second), Logger: slog.New(slog.DiscardHandler),
			Classify: awserr.New(awserr.Options{Permanent: awserr.Validation | awserr.AccessDenied}),
		})
		if err != nil {
			t.Fatal(err)
		}
		once, often := []int{0}, []int{0, 3, 6, 9, 12} // maxReceiveCount is 5
		want := map[string][]int{
			"InvalidParameterValue": once, "invalid": once, "denied": once,
			"QueueDoesNotExist": often, "down": often, "nowhere": often, "no credentials": often,
			"throttled": {0, 7, 14},
		}
		for body := range want {
			q.Send(body)
		}
		q.Map(16*time.Second, h.Invoke)
		for body, want := range want {
			if got := calls[body]; !slices.Equal(got, want) {
				t.Errorf("%s was handled after %v s, want %v", body, got, want)
			}
		}
		if left, dead := q.Left(); left != 1 || dead != 7 {
			t.Errorf("%d are left and %d dead letters, want 1 and 7", left, dead)
		}
	})
}
