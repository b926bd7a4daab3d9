package cloudwatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

const (
	callTimeout = 10 * time.Second
	// Backoff between tries. During a flush, which has little time, it is at most
	// flushBackoff.
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
	flushBackoff = time.Second
	// maxOffset is the longest random delay after the end of a period. Without it, all tasks
	// of a service would call at each full minute.
	maxOffset = 10 * time.Second
	// maxQueued is the limit of queued bytes, except the newest period.
	maxQueued = 4 << 20
)

// sender sends data on a goroutine, which runs while data is queued.
type sender struct {
	namespace string
	lambda    bool
	offset    time.Duration
	trouble   trouble

	client *cloudwatch.Client // belongs to the goroutine; nil until the first call

	mu        sync.Mutex
	queue     []types.MetricDatum // to send, the oldest first
	size      int                 // of queue, in bytes
	running   bool                // the goroutine runs
	calling   int                 // number of data in the open call
	stuck     bool                // a flush stopped waiting for the open call
	flushing  int                 // flushes that wait
	failures  int                 // failed calls since the last success
	hopeless  bool                // the last failure needs an operator
	notBefore time.Time           // start of the next call at the earliest
	wake      chan struct{}       // notBefore has changed
	tried     chan struct{}       // closed after the next call
	dropped   int
}

func (s *sender) init(o *Config, warn func(batch.Warning)) {
	s.namespace, s.client = o.Namespace, o.Client
	s.lambda = os.Getenv("AWS_LAMBDA_RUNTIME_API") != ""
	s.offset = rand.N(min(maxOffset, o.Interval/6))
	s.trouble = trouble{namespace: o.Namespace, warn: warn, warned: map[string]time.Time{}}
	s.wake, s.tried = make(chan struct{}, 1), make(chan struct{})
}

func (s *sender) add(some []types.MetricDatum) {
	if len(some) == 0 {
		return
	}
	s.mu.Lock()
	s.queue, s.size = append(s.queue, some...), s.size+encodedSize(some...)
	dropped := s.bound()
	if !s.running {
		if s.failures == 0 {
			s.notBefore = time.Now().Add(s.offset)
		}
		s.running = true
		go s.run()
	}
	s.mu.Unlock()
	s.trouble.dropped(dropped)
}

// bound drops the oldest periods, but never the newest, while there is too much data. It
// returns the number of dropped data.
func (s *sender) bound() (dropped int) {
	for s.size > maxQueued {
		n := slices.IndexFunc(s.queue, func(d types.MetricDatum) bool { return !d.Timestamp.Equal(*s.queue[0].Timestamp) })
		if n < 0 {
			break
		}
		s.size -= encodedSize(s.queue[:n]...)
		s.queue, dropped = s.queue[n:], dropped+n
	}
	s.dropped += dropped
	return dropped
}

func (s *sender) run() {
	for {
		some, wait := s.next()
		if wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-s.wake:
				timer.Stop()
			}
			continue
		}
		if len(some) == 0 {
			return
		}
		s.over(some, s.put(some))
	}
}

// next returns the data of the next call, or the time to wait for it, or neither if the queue
// is empty.
func (s *sender) next() (some []types.MetricDatum, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.running, s.queue = false, nil // frees its memory
		return nil, 0
	}
	if wait = time.Until(s.notBefore); wait > 0 {
		return nil, wait
	}
	n, size := 0, 0
	for n < min(len(s.queue), maxData) {
		if size += encodedSize(s.queue[n]); n > 0 && size > maxBytes {
			break
		}
		n++
	}
	some, s.queue = s.queue[:n:n], s.queue[n:]
	s.size -= encodedSize(some...)
	s.calling = n
	return some, 0
}

func (s *sender) over(some []types.MetricDatum, err error) {
	v := judge(err)
	s.mu.Lock()
	dropped := 0
	switch {
	case err == nil:
		s.failures, s.notBefore = 0, time.Time{}
	case v.forGood:
		s.dropped += len(some)
		s.failures, s.notBefore = 0, time.Time{}
	default:
		s.failures++
		s.hopeless = v.now
		s.notBefore = time.Now().Add(s.backoff())
		s.queue, s.size = append(some, s.queue...), s.size+encodedSize(some...)
		dropped = s.bound()
	}
	failures := s.failures
	s.mu.Unlock()

	if err == nil {
		s.trouble.over()
	} else {
		s.trouble.failed(v, failures, err)
		s.trouble.dropped(dropped)
	}

	s.mu.Lock() // after the warning, flushes may return
	s.calling, s.stuck = 0, false
	close(s.tried)
	s.tried = make(chan struct{})
	s.mu.Unlock()
}

// backoff returns the time until the next try.
func (s *sender) backoff() time.Duration {
	if s.flushing > 0 {
		return sleep.Backoff(s.failures, firstBackoff/10, flushBackoff)
	}
	return sleep.Backoff(s.failures, firstBackoff, maxBackoff)
}

// flush sends everything now. It returns when everything is sent or ctx ends. On Lambda it
// stops at a failure that will last: the next invocation continues.
func (s *sender) flush(ctx context.Context) {
	s.mu.Lock()
	failed := s.failures
	if s.lambda && (s.stuck || failed > 0 && time.Now().Before(s.notBefore)) {
		s.mu.Unlock()
		return
	}
	s.flushing++
	s.notBefore = time.Time{}
	sleep.Wake(s.wake)
	for len(s.queue)+s.calling > 0 && ctx.Err() == nil {
		if s.lambda && s.failures > failed && (failed > 0 || s.hopeless) {
			break
		}
		tried := s.tried
		s.mu.Unlock()
		select {
		case <-tried:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	s.flushing--
	s.stuck = s.calling > 0
	left := len(s.queue) + s.calling
	s.mu.Unlock()
	if left > 0 && !s.lambda {
		s.trouble.left(left)
	}
}

// put makes a call. A panic in the user's parts of the client becomes its error.
func (s *sender) put(some []types.MetricDatum) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if s.client == nil {
		client, err := s.newClient(ctx)
		if err != nil {
			return err
		}
		s.client = client
	}
	_, err = s.client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: &s.namespace, MetricData: some},
		func(o *cloudwatch.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

func (s *sender) newClient(ctx context.Context) (*cloudwatch.Client, error) {
	var options []func(*config.LoadOptions) error
	if s.lambda { // the credentials are in the environment
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("no AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errNoRegion
	}
	return cloudwatch.NewFromConfig(cfg), nil
}
