package sqs

import (
	"cmp"
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

// Config configures a [Server]. The zero value is ready to use.
type Config struct {
	// Region is part of the queues' ARNs. Defaults to "us-east-1".
	Region string
	// AccountID, 12 digits, is part of the queues' ARNs and URLs. Defaults to
	// "000000000000".
	AccountID string
	// Observe is called for everything that happens to a message, in the order in which it
	// takes effect, before the request that caused it is answered. The server waits for it,
	// so it must be quick. It must not call the server, which would be a deadlock. Defaults
	// to none.
	Observe func(Event)
	// ObserveCall is called for every call that [Server.Calls] would return, whatever
	// History is, just before the answer is sent. It may call the server. It may be called
	// for several calls at the same time. Defaults to none.
	ObserveCall func(Call)
	// MaxBatchBytes is the largest total size of the messages of a SendMessageBatch,
	// including their attributes, 1 byte to 1 MiB. Some SQS-compatible servers still have a
	// limit of 256 KiB, which SQS had until August 2025. Defaults to 1 MiB.
	MaxBatchBytes int
	// Faults are injected at the start; [Server.Inject] adds others. Defaults to none.
	Faults []Fault
	// AllowedHosts are host names, without port, that requests to the socket of [Serve] may
	// have in addition to localhost and loopback addresses: names by which containers reach
	// this machine, such as "host.docker.internal". Serve refuses other names, because a
	// web page could use one to read messages (DNS rebinding). A server made by [New] has
	// no socket and refuses none. Defaults to none.
	AllowedHosts []string
	// Seed decides which calls are affected by faults with a probability. The same seed
	// affects the same calls. Defaults to 0, which is a seed like any other.
	Seed uint64
	// History is the largest number of calls, and of events, that are kept for
	// [Server.Calls] and [Server.Events]. If there are more, the oldest are dropped. An
	// event keeps its message's body in memory, even after the message was deleted. So the
	// oldest events are also dropped if their bodies take more than 64 MiB, counting each
	// body once. Defaults to 100,000; a negative number keeps none.
	History int
}

var (
	regionPattern  = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)
	accountPattern = regexp.MustCompile(`^[0-9]{12}$`)
)

// complete returns o with its defaults, or an error that names the field, its value and its
// bounds.
func (o Config) complete() (Config, error) {
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.AccountID = cmp.Or(o.AccountID, "000000000000")
	if !regionPattern.MatchString(o.Region) {
		return o, fmt.Errorf("sqs: Config.Region is %q: want lower-case letters, digits and hyphens, at most 63", o.Region)
	}
	if !accountPattern.MatchString(o.AccountID) {
		return o, fmt.Errorf("sqs: Config.AccountID is %q: want 12 digits", o.AccountID)
	}
	if o.MaxBatchBytes < 0 || o.MaxBatchBytes > maxMessageBytes {
		return o, fmt.Errorf("sqs: Config.MaxBatchBytes is %d: want 1 to %d, or 0 for %[2]d", o.MaxBatchBytes, maxMessageBytes)
	}
	o.MaxBatchBytes = cmp.Or(o.MaxBatchBytes, maxMessageBytes)
	for i, f := range o.Faults {
		if err := f.validate(); err != nil {
			return o, fmt.Errorf("sqs: Config.Faults[%d]: %w", i, err)
		}
	}
	for i, name := range o.AllowedHosts {
		if err := webguard.CheckName(name); err != nil {
			return o, fmt.Errorf("sqs: Config.AllowedHosts[%d]: %w", i, err)
		}
	}
	o.History = cmp.Or(o.History, defaultHistory)
	return o, nil
}

// Server is an emulated SQS service with its queues. It is an [http.Handler] that is safe
// for concurrent use.
type Server struct {
	options  Config
	invalid  error // the options' error: the answer to every request; nil if they are valid
	endpoint string
	listener *listener // nil unless made by Serve
	faults   faultSet
	history  history
	ended    chan struct{} // closed by Close

	// mu guards the fields below and all queues. One lock for all, because a receive may
	// move messages between queues, and because the events must have one order. Bodies are
	// decoded, hashed and encoded without the lock.
	mu      sync.Mutex
	queues  map[string]*queue
	deleted map[string]time.Time // when queues were deleted, by name
	touched []*queue             // queues that gained messages, for serveTouched
	moving  []*moveTask          // the active message move tasks
	lastUID uint64
	closed  bool
}

// New returns a server without a socket. Reach it with [Server.HTTPClient], or serve it as
// an [http.Handler]. If an option is invalid, every request is answered with the reason.
func New(o Config) *Server {
	o, err := o.complete()
	s := &Server{
		options: o, invalid: err,
		// .invalid never resolves: a client without HTTPClient fails clearly.
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

// URL returns the endpoint for clients: the address of [Serve], or a made-up one that works
// only with [Server.HTTPClient].
func (s *Server) URL() string { return s.endpoint }

// QueueURL returns the URL of the queue with that name, even if it does not exist. A server
// looks only at the path of queue URLs, account and name, and accepts any host.
func (s *Server) QueueURL(name string) string {
	return s.endpoint + "/" + s.options.AccountID + "/" + name
}

// QueueARN returns the ARN of the queue with that name, even if it does not exist.
func (s *Server) QueueARN(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + s.options.AccountID + ":" + name
}

// HTTPClient returns a client whose requests, to any host, are answered by the server in
// the goroutine that makes them, without a socket.
func (s *Server) HTTPClient() *http.Client {
	return &http.Client{Transport: transport{s}}
}

// Client returns an AWS client with credentials for the server, which accepts any. Its
// calls need no socket, see [Server.HTTPClient]. The functions may change the client's
// options.
func (s *Server) Client(options ...func(*sqs.Options)) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:       s.options.Region,
		BaseEndpoint: aws.String(s.URL()),
		HTTPClient:   s.HTTPClient(),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, options...)
}

// Close ends the server. Waiting receivers and later requests get an error, timers stop,
// and the socket of [Serve] is closed. It may be called more than once; later calls return
// nil.
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
