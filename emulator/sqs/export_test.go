package sqs

import "time"

// ServeWithin is Serve with other limits for slow clients.
func ServeWithin(header, body, answer time.Duration, o Options) (*Server, error) {
	return serveWithin(limits{header: header, body: body, answer: answer, idle: header}, "127.0.0.1:0", o)
}
