package reply

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Config configures a [Client]. The zero value is ready to use.
type Config struct {
	// Name is a part of the reply queue's name, to identify its owner: up to 30 letters,
	// digits, hyphens and underscores. Defaults to the name of the program.
	Name string

	// Prefix is the beginning of the reply queue's name: up to 20 letters, digits, hyphens
	// and underscores. HandlerConfig.Prefix, the policy of the handlers' role, and
	// `sqsbatch reply sweep` must have the same. Defaults to [DefaultPrefix].
	Prefix string

	// Timeout is the timeout of a call whose context has no deadline, 1 s to 12 h. Defaults
	// to 30 s.
	Timeout time.Duration

	// Attributes are further attributes of the reply queue, such as KmsMasterKeyId, or a
	// Policy for handlers of another account (HandlerConfig.Accounts). Tags are further tags.
	// Both default to none.
	Attributes, Tags map[string]string

	// Sender configures how requests are sent: traces, metrics, a correlation id. Queue is
	// set for each call. Linger defaults to 1 ms. ContentBasedDeduplication must be false, and
	// Prepare nil.
	Sender sender.Config
}

// DefaultPrefix is the default of Config.Prefix and HandlerConfig.Prefix.
const DefaultPrefix = "sqsbatch-reply-"

const (
	defaultTimeout = 30 * time.Second
	// linger is shorter than the default of package sender, since a call waits for two.
	linger = time.Millisecond
)

func senderConfig(cfg sender.Config, queue string) sender.Config {
	cfg.Queue, cfg.Linger = queue, cmp.Or(cfg.Linger, linger)
	return cfg
}

// A Client makes calls. Make one with [NewClient]. It is safe for concurrent use. Close it at
// the end of the process.
//
// Cost, in addition to the messages of requests and answers: a receive for each ten answers, or
// every 20 s while calls wait; a delete for each ten answers; and a call every 5 min, so that
// `sqsbatch reply sweep` keeps the queue. The client does not receive while no call waits.
type Client struct {
	sqs *sqs.Client
	cfg Config

	ctx    context.Context // of calls to the reply queue; ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // goroutines

	mu      sync.Mutex
	closed  bool
	queue   *queue                    // nil before the first call, and after it was deleted
	senders map[string]*sender.Sender // by queue, as passed to Call
	calls   map[string]chan outcome   // calls that wait, by id
}

// outcome is the result of a call: an answer, or an error.
type outcome struct {
	answer
	body string
	err  error
}

// NewClient returns a Client. It checks the configuration and makes no call. Its error names
// every invalid field, or is [ErrOnLambda] on Lambda.
func NewClient(client *sqs.Client, cfg Config) (*Client, error) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		return nil, ErrOnLambda
	}
	if cfg.Name == "" {
		cfg.Name = programName()
	}
	cfg.Prefix, cfg.Timeout = cmp.Or(cfg.Prefix, DefaultPrefix), cmp.Or(cfg.Timeout, defaultTimeout)
	errs := []error{checkName("Name", cfg.Name, longestName), checkConfig(client, cfg.Prefix, cfg.Sender)}
	if cfg.Timeout < time.Second || cfg.Timeout > 12*time.Hour {
		errs = append(errs, fmt.Errorf("reply: Timeout is %v, must be 1s to 12h", cfg.Timeout))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c := &Client{sqs: client, cfg: cfg, senders: map[string]*sender.Sender{}, calls: map[string]chan outcome{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// The lengths of the parts of a queue's name, which has up to 80 characters.
const (
	longestPrefix = 20
	longestName   = 30
)

// checkConfig checks the fields that Config and HandlerConfig share.
func checkConfig(client *sqs.Client, prefix string, cfg sender.Config) error {
	_, err := sender.New(client, senderConfig(cfg, "any"))
	if cfg.Prepare != nil {
		err = errors.Join(err, errors.New("reply: Sender.Prepare is set, must be nil: the other side does not undo its changes"))
	}
	return errors.Join(checkName("Prefix", prefix, longestPrefix), err)
}

func checkName(field, value string, longest int) error {
	if value == "" || len(value) > longest || notInNames.MatchString(value) {
		return fmt.Errorf("reply: %s is %q, must be 1 to %d letters, digits, hyphens and underscores, since it is in the names of queues", field, value, longest)
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func programName() string {
	name := notInNames.ReplaceAllString(filepath.Base(os.Args[0]), "-")
	return name[:min(len(name), longestName)]
}

// Call sends a request to a queue (a URL, an ARN or a name) and waits for the answer. The
// request is encoded in JSON, unless it is a [sender.Message], which may have a group and
// attributes of its own. The request's id takes one of the ten attributes. The answer is
// decoded from JSON.
//
// The deadline of ctx is sent with the request. Defaults to Config.Timeout from now.
//
// Errors:
//
//   - [*Error]: the handler answered with an error,
//   - an error of package sender: the request was not sent, or may have been,
//   - an error that wraps the cause of ctx: no answer came in time,
//   - [ErrQueueGone], [ErrClosed], or an error of SQS.
//
// Except after an [*Error], the request may still be handled, unless the sender's error says
// that it was not sent.
func Call[Resp any](ctx context.Context, c *Client, queue string, req any) (resp Resp, err error) {
	body, err := c.call(ctx, queue, req)
	if err != nil {
		return resp, err
	}
	if err := json.Unmarshal([]byte(body), &resp); err != nil {
		return resp, fmt.Errorf("reply: the answer from %s is not a %T: %w", batch.QueueName(queue), resp, err)
	}
	return resp, nil
}

func (c *Client) call(ctx context.Context, to string, req any) (body string, err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	s, err := c.sender(to)
	if err != nil {
		return "", err
	}
	q, err := c.open(ctx)
	if err != nil {
		return "", err
	}
	message, ok := req.(sender.Message)
	if !ok {
		message = sender.JSON(req)
	}
	id := rand.Text()
	deadline, _ := ctx.Deadline()
	message.Attributes = maps.Clone(message.Attributes)
	if message.Attributes == nil {
		message.Attributes = map[string]batch.MessageAttribute{}
	}
	message.Attributes[requestAttribute] = attribute(request{ID: id, To: q.url, Deadline: deadline.UTC()})
	got, err := c.addCall(id, q)
	if err != nil {
		return "", err
	}
	sending, giveUp := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() {
		defer close(sent)
		sent <- s.Send(sending, message)
	}()
	defer func() {
		giveUp()
		for range sent { // waits for the goroutine
		}
	}()
	select {
	case o := <-got: // perhaps before the request is confirmed
		return o.end()
	case err = <-sent: // confirmed, failed, or ctx has ended
	}
	if err == nil {
		select {
		case o := <-got:
			return o.end()
		case <-ctx.Done():
			err = c.noAnswer(to, q, context.Cause(ctx))
		}
	}
	c.finish(id, outcome{err: err}) // no-op if an answer or Close came first
	o := <-got
	return o.end()
}

func (o *outcome) end() (body string, err error) {
	if o.err == nil && o.Error != nil {
		return "", o.Error
	}
	return o.body, o.err
}

// sender returns the sender for requests to a queue.
func (c *Client) sender(to string) (*sender.Sender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := c.senders[to]; {
	case c.closed:
		return nil, ErrClosed
	case s != nil:
		return s, nil
	}
	s, err := sender.New(c.sqs, senderConfig(c.cfg.Sender, to))
	if err == nil {
		c.senders[to] = s
	}
	return s, err
}

// addCall registers a call, and starts a receiver if there is none.
func (c *Client) addCall(id string, q *queue) (got <-chan outcome, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.queue != q:
		return nil, ErrQueueGone
	}
	waits := make(chan outcome, 1)
	c.calls[id] = waits
	if q.receivers == 0 {
		c.startReceiver(q)
	}
	return waits, nil
}

// noAnswer returns the error of a call that timed out.
func (c *Client) noAnswer(to string, q *queue, cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := fmt.Errorf("reply: no answer from %s: %w", batch.QueueName(to), cause)
	if q.trouble != nil {
		err = fmt.Errorf("%w (%v)", err, q.trouble)
	}
	return err
}

// finish ends a call, unless it has ended before.
func (c *Client) finish(id string, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits := c.calls[id]; waits != nil {
		delete(c.calls, id)
		waits <- o
	}
}

// fail ends all calls with err. Callers hold the lock.
func (c *Client) fail(err error) {
	for _, waits := range c.calls {
		waits <- outcome{err: err}
	}
	clear(c.calls)
}

// Close ends calls in flight with [ErrClosed], and deletes the reply queue. The requests of
// these calls may still be handled. Close returns an error if the queue could not be deleted:
// `sqsbatch reply sweep` deletes it later, as it does a queue whose creation was cut off. After
// the first call Close does nothing.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.fail(ErrClosed)
	senders, q := c.senders, c.queue
	c.mu.Unlock()
	c.cancel()
	for _, s := range senders {
		s.Close(c.ctx) // has ended: no call waits for unsent requests
	}
	c.tasks.Wait()
	if q == nil || q.url == "" {
		return nil
	}
	return c.delete(ctx, q)
}
