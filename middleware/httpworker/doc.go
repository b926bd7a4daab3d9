// Package httpworker runs a worker that was written for HTTP: one that the
// worker tier of AWS Elastic Beanstalk posts each message to.
//
//	http.HandleFunc("POST /", work) // func(http.ResponseWriter, *http.Request)
//	handler.Run(httpworker.New(http.DefaultServeMux, httpworker.Options{}))
//
// The worker is called in the process, without a socket. One that is a process
// beside, in any language, is posted to:
//
//	h, err := httpworker.Post("http://127.0.0.1:8080/jobs", nil, httpworker.Options{})
//
// It is sent what the daemon of Elastic Beanstalk sends, see "Elastic Beanstalk
// worker environments" in its Developer Guide: the body by POST, Content-Type
// application/json unless configured, User-Agent aws-sqsd, and
//
//	X-Aws-Sqsd-Msgid              the message's id
//	X-Aws-Sqsd-Queue              the queue's name
//	X-Aws-Sqsd-First-Received-At  as 2026-11-21T21:33:25Z, when known
//	X-Aws-Sqsd-Receive-Count      the attempt, when known
//	X-Aws-Sqsd-Sender-Id          the IAM id of the sender, when known
//	X-Aws-Sqsd-Attr-NAME          each message attribute that is a string or number
//
// Attributes that are binary are left out, as there, and so is one whose name or
// value cannot be a header's, such as a text of several lines. A worker in the
// process finds all of them by batch.RecordFrom(r.Context()). Names that differ
// only in case are values of one header.
//
// The status decides. 200 to 299 is done (Elastic Beanstalk knows only 200); any
// other is a failure with an [httpstatus.Error], which comes back after the
// backoff, or after Retry-After if the response has it. A redirect is not
// followed and is a failure. As in Elastic Beanstalk nothing is permanent; where
// a 4xx is meant to be, say so: handler.Config{Classify: httpstatus.Classify}.
// What a worker writes is thrown away.
//
// Periodic tasks (cron.yaml) are the daemon's own: Amazon EventBridge Scheduler
// sends to a queue as well.
//
// [httpstatus.Error]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/classify/httpstatus#Error
package httpworker
