package sqs

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// Options configure a [Server]. The zero value is ready to use.
type Options struct {
	// Region is part of the queues' ARNs. Defaults to "us-east-1".
	Region string
	// AccountID, 12 digits, is part of the queues' ARNs and URLs. Defaults to
	// "000000000000".
	AccountID string
	// Observe is called for everything that happens to a message, in the order
	// in which it takes effect and before the request that caused it is
	// answered. The server waits for it, so it must be quick, and it must not
	// call the server: that would be a deadlock. Defaults to nothing.
	Observe func(Event)
}

var (
	regionPattern  = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)
	accountPattern = regexp.MustCompile(`^[0-9]{12}$`)
)

// complete fills in the defaults and validates.
func (o Options) complete() (Options, error) {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if !regionPattern.MatchString(o.Region) {
		return o, fmt.Errorf("sqs: Options.Region is %q: want lower-case letters, digits and hyphens, at most 63", o.Region)
	}
	if !accountPattern.MatchString(o.AccountID) {
		return o, fmt.Errorf("sqs: Options.AccountID is %q: want 12 digits", o.AccountID)
	}
	return o, nil
}

// Server is an SQS service with its queues: an [http.Handler] that any number
// of clients may use at the same time.
type Server struct {
	options  Options
	invalid  error // what is wrong with the options: the answer to every request
	endpoint string
	listener *listener // nil unless made by Serve

	// mu guards what follows and all queues. One lock for all, because a
	// receive may move messages between queues, and because it gives the
	// events one order. Bodies are decoded, hashed and encoded outside of it.
	mu      sync.Mutex
	queues  map[string]*queue
	deleted map[string]time.Time // when queues were deleted, by name
	touched []*queue             // queues that gained messages and are to be served
	lastUID uint64
	closed  bool
}

// New returns a server without a socket: reach it by [Server.HTTPClient], or
// serve it as an [http.Handler]. Invalid options are what every request is
// answered with.
func New(o Options) *Server {
	o, err := o.complete()
	return &Server{
		options: o, invalid: err,
		// .invalid never resolves: a client that lacks HTTPClient fails clearly.
		endpoint: "http://sqs." + o.Region + ".invalid",
		queues:   map[string]*queue{},
		deleted:  map[string]time.Time{},
	}
}

// URL returns the endpoint for clients: where [Serve] listens, else a made-up
// one that works with [Server.HTTPClient] only.
func (s *Server) URL() string { return s.endpoint }

// QueueURL returns the URL of the queue of that name, which need not exist. A
// server takes queue URLs by their path, account and name, whatever their host.
func (s *Server) QueueURL(name string) string {
	return s.endpoint + "/" + s.options.AccountID + "/" + name
}

// QueueARN returns the ARN of the queue of that name, which need not exist.
func (s *Server) QueueARN(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + s.options.AccountID + ":" + name
}

// HTTPClient returns a client whose requests, to whatever host, are answered
// by the server in the goroutine that makes them, without a socket.
func (s *Server) HTTPClient() *http.Client {
	return &http.Client{Transport: transport{s}}
}

// Close ends the server: waiting receivers get an error at once, later
// requests too, timers stop, and the socket of [Serve] is closed. It may be
// called more than once; later calls return nil.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for _, q := range s.queues {
		q.shut(errClosed())
	}
	s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.close()
}

// queue finds the queue of a request and brings it up to now. The caller holds
// the lock and calls settle when it is done.
func (s *Server) queue(url string, now time.Time) (*queue, *apiError) {
	q, err := s.find(url)
	if err == nil {
		q.advance(now)
	}
	return q, err
}

// settle serves the receivers that wait for what the request made visible, on
// q and on the queues that messages were moved to.
func (s *Server) settle(q *queue, now time.Time) {
	s.touched = append(s.touched, q)
	for len(s.touched) > 0 {
		next := s.touched[len(s.touched)-1]
		s.touched = s.touched[:len(s.touched)-1]
		s.serve(next, now)
		s.arm(next, now)
	}
}
