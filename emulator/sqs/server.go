package sqs

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
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
	// ObserveCall is called for every call that is then in [Server.Calls],
	// whatever History is, when its answer is certain and before that goes out.
	// The server is not locked, so that it may be called; calls that are made
	// side by side are told side by side. Defaults to nothing.
	ObserveCall func(Call)
	// MaxBatchBytes is how much the messages of a SendMessageBatch may have in
	// all, their attributes included, 1 byte to 1 MiB. Some servers in SQS's place
	// still have the 256 KiB that were SQS's limit until August 2025. Defaults to
	// 1 MiB.
	MaxBatchBytes int
	// Faults are there from the start; [Server.Inject] adds others.
	Faults []Fault
	// AllowedHosts are names, without port, by which clients may ask the socket
	// of [Serve], besides localhost and loopback addresses: those by which
	// containers reach this machine, as "host.docker.internal". Serve refuses
	// others, because a web page could use one to read what is in the queues (DNS
	// rebinding). [New]'s server has no socket and refuses none. Defaults to none.
	AllowedHosts []string
	// Seed decides which calls are struck by faults with a probability: the same
	// seed strikes the same ones. Defaults to 0, a seed as any other.
	Seed uint64
	// History is how many calls and how many events are kept at most for
	// [Server.Calls] and [Server.Events]; when there are more, the oldest go. An
	// event keeps its message's body in memory, also when the message is gone:
	// the oldest events go, too, when their bodies take more than 64 MiB, each
	// counted once. Defaults to 100,000; negative keeps none.
	History int
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
	if o.MaxBatchBytes < 0 || o.MaxBatchBytes > maxMessageBytes {
		return o, fmt.Errorf("sqs: Options.MaxBatchBytes is %d: want 1 to %d, or 0 for %[2]d", o.MaxBatchBytes, maxMessageBytes)
	}
	if o.MaxBatchBytes == 0 {
		o.MaxBatchBytes = maxMessageBytes
	}
	for i, f := range o.Faults {
		if err := f.validate(); err != nil {
			return o, fmt.Errorf("sqs: Options.Faults[%d]: %w", i, err)
		}
	}
	for i, name := range o.AllowedHosts {
		if err := webguard.CheckName(name); err != nil {
			return o, fmt.Errorf("sqs: Options.AllowedHosts[%d]: %w", i, err)
		}
	}
	if o.History == 0 {
		o.History = defaultHistory
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
	faults   faultSet
	history  history
	ended    chan struct{} // closed by Close

	// mu guards what follows and all queues. One lock for all, because a
	// receive may move messages between queues, and because it gives the
	// events one order. Bodies are decoded, hashed and encoded outside of it.
	mu      sync.Mutex
	queues  map[string]*queue
	deleted map[string]time.Time // when queues were deleted, by name
	touched []*queue             // queues that gained messages and are to be served
	moving  []*moveTask          // the active message move tasks
	lastUID uint64
	closed  bool
}

// New returns a server without a socket: reach it by [Server.HTTPClient], or
// serve it as an [http.Handler]. Invalid options are what every request is
// answered with.
func New(o Options) *Server {
	o, err := o.complete()
	s := &Server{
		options: o, invalid: err,
		// .invalid never resolves: a client that lacks HTTPClient fails clearly.
		endpoint: "http://sqs." + o.Region + ".invalid",
		queues:   map[string]*queue{},
		deleted:  map[string]time.Time{},
		ended:    make(chan struct{}),
	}
	s.history.limit = o.History
	s.faults.seed = o.Seed
	s.faults.add(o.Faults)
	return s
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

// Client returns AWS's client with credentials for the server, which accepts any.
// Its calls need no socket: see [Server.HTTPClient]. Options may change what it
// is made of.
func (s *Server) Client(options ...func(*sqs.Options)) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:       s.options.Region,
		BaseEndpoint: aws.String(s.URL()),
		HTTPClient:   s.HTTPClient(),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, options...)
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
	close(s.ended)
	for _, q := range s.queues {
		q.shut(errClosed())
	}
	s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.close()
}
