package main

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
)

// The function is handler.RunWith(overHTTP, statuses).
var (
	overHTTP = batch.HandlerFunc(post)
	statuses = handler.Config{Classify: httpstatus.Classify} // most statuses of 4xx are dead letters
)

var workerURL = cmp.Or(os.Getenv("WORKER_URL"), "http://127.0.0.1:5000/")

// client does not follow redirects: a redirected POST becomes a GET, whose 200 means nothing.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post sends the worker the request that it got until now.
func post(ctx context.Context, r batch.Record) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, workerURL, strings.NewReader(r.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "aws-sqsd")
	request.Header.Set("X-Aws-Sqsd-Msgid", r.MessageID)
	request.Header.Set("X-Aws-Sqsd-Queue", batch.QueueName(r.QueueARN))
	request.Header.Set("X-Aws-Sqsd-Receive-Count", strconv.Itoa(r.Attempt))
	if priority, ok := r.MessageAttributes["priority"]; ok { // an attribute that the worker reads
		request.Header.Set("X-Aws-Sqsd-Attr-Priority", priority.StringValue)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := httpstatus.Check(response); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body) // an error if the worker ended while it answered
	return err
}
