// Package httpworker runs a worker that was written for HTTP, such as one to which the
// worker tier of AWS Elastic Beanstalk posts each message:
//
//	http.HandleFunc("POST /", work) // func(http.ResponseWriter, *http.Request)
//	handler.Run(httpworker.New(http.DefaultServeMux, httpworker.Options{}))
//
// This calls the worker inside the process, without a socket. A worker in another process,
// in any language, gets the records by POST:
//
//	h, err := httpworker.Post("http://127.0.0.1:8080/jobs", nil, httpworker.Options{})
//
// The request is the one that the daemon of Elastic Beanstalk sends, see "Elastic Beanstalk
// worker environments" in its Developer Guide: a POST of the body, with User-Agent
// aws-sqsd, Content-Type application/json unless configured, and
//
//	X-Aws-Sqsd-Msgid              the message's id
//	X-Aws-Sqsd-Queue              the queue's name
//	X-Aws-Sqsd-First-Received-At  as 2026-11-21T21:33:25Z, when known
//	X-Aws-Sqsd-Receive-Count      the attempt, when known
//	X-Aws-Sqsd-Sender-Id          the IAM id of the sender, when known
//	X-Aws-Sqsd-Attr-NAME          each message attribute that is a string or number
//
// Like the daemon, it leaves out binary attributes. It also leaves out attributes whose
// name or value a header cannot have, such as a text of several lines. A worker inside the
// process finds all attributes with batch.RecordFrom(r.Context()). Names that differ only
// in case become several values of one header.
//
// The status decides. 200 to 299 means done (Elastic Beanstalk knows only 200). Any other
// status is a failure with an [httpstatus.Error]: the record comes back after the backoff,
// or after Retry-After if the response has it. Redirects are not followed and are failures.
// As in Elastic Beanstalk, no status is permanent. To make a 4xx permanent, set
// handler.Config{Classify: httpstatus.Classify}. The response's body is ignored.
//
// Periodic tasks (cron.yaml) are a feature of the daemon. Use Amazon EventBridge Scheduler,
// which sends to a queue as well.
//
// [httpstatus.Error]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/classify/httpstatus#Error
package httpworker
