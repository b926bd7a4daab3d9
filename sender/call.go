package sender

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// deduplication is how long a FIFO queue drops messages with the same deduplication id, see
// "Exactly-once processing" in the developer guide.
const deduplication = 5 * time.Minute

// errNoAnswer is the error of a message that SQS's answer does not mention.
var errNoAnswer = errors.New("SQS's answer does not mention the message")

// call is a SendMessageBatch with its retries in halves, owned by a worker. Jobs are copies of
// entries' fields, so that the worker needs no lock.
type call struct {
	*Sender
	url   string
	began time.Time
	jobs  []job
	errs  []error // by position; nil if SQS has confirmed the message

	answered  bool // SQS answered at least once
	throttled bool // SQS throttled at least one message
	troubled  bool // SQS did not answer, throttled the call, or had an internal error
}

// job is a message of a call.
type job struct {
	entry  *entry
	tries  int
	unsure time.Time
	sent   types.SendMessageBatchResultEntry
}

// startCall passes a call to an idle worker, or to a new one.
func (s *Sender) startCall(batch []*entry, now time.Time) {
	c := &call{Sender: s, began: now, jobs: make([]job, len(batch)), errs: make([]error, len(batch))}
	for k, e := range batch {
		e.call = true
		c.jobs[k] = job{entry: e, tries: e.tries, unsure: e.unsure}
	}
	s.inFlight++
	if last := len(s.idle) - 1; last >= 0 {
		s.idle[last] <- c
		s.idle = s.idle[:last]
	} else {
		go s.work(c)
	}
}

// work makes calls one after another, and reports their results. A new goroutine for each
// call would cost more, because the SDK's call makes its stack grow several times.
func (s *Sender) work(c *call) {
	calls := make(chan *call, 1)
	for c != nil {
		c.make()
		s.mu.Lock()
		over := s.end(c)
		s.mu.Unlock()
		s.deliver(over)
		s.mu.Lock()
		s.idle = append(s.idle, calls)
		s.dismiss()
		s.mu.Unlock()
		c = <-calls
	}
}

// dismiss ends idle workers beyond the number of calls in flight, so an idle sender has no
// goroutine.
func (s *Sender) dismiss() {
	for len(s.idle) > s.inFlight {
		last := len(s.idle) - 1
		s.idle[last] <- nil
		s.idle = s.idle[:last]
	}
}

// make makes the call. If SQS refuses a call as a whole, make sends its halves.
func (c *call) make() {
	url, err := c.target.lookUp(c.ctx, c.cfg.CallTimeout)
	if err != nil {
		for k := range c.errs {
			c.errs[k] = err
			c.jobs[k].tries++
		}
		c.troubled = sqserror.Passing(err)
		return
	}
	c.url = url
	left := make([]int, len(c.jobs))
	for k := range left {
		left[k] = k
	}
	sqserror.Divide(left, c.try)
}

// open returns the positions whose messages have no result yet.
func (c *call) open(positions []int) (list []int) {
	list = make([]int, 0, len(positions))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range positions {
		if !c.jobs[k].entry.over {
			list = append(list, k)
		}
	}
	return list
}

// try makes one call for the messages at positions, except messages that were given up and
// messages for which it is too late. A position is also the message's id in the call. try
// returns the positions to which err applies.
func (c *call) try(positions []int) (left []int, err error) {
	began := time.Now()
	left = slices.DeleteFunc(c.open(positions), func(k int) bool {
		late := c.tooLate(&c.jobs[k], began)
		if late {
			c.errs[k] = ErrTooLate
		}
		return late
	})
	if len(left) == 0 {
		return nil, nil
	}
	out, sent, err := c.send(left)
	for _, k := range left {
		c.errs[k] = err
		if err == nil {
			c.errs[k] = errNoAnswer // until read sets the result
		}
		c.jobs[k].tries++
	}
	throttled := 0
	if err == nil {
		throttled = c.read(out)
	}
	failed := 0
	for _, k := range left {
		job := &c.jobs[k]
		if sent && sqserror.Unsure(c.errs[k]) && job.unsure.IsZero() {
			job.unsure = began
		}
		if c.errs[k] != nil {
			failed++
		}
	}
	c.answered = c.answered || err == nil
	c.throttled = c.throttled || throttled > 0
	c.troubled = c.troubled || sqserror.Passing(err)
	c.report(left, began, failed, throttled, err)
	return left, err
}

// tooLate reports whether another try of a message could reach a FIFO queue after the
// deduplication interval of the first try.
func (c *call) tooLate(j *job, now time.Time) bool {
	return c.fifo && !j.unsure.IsZero() && now.Add(c.cfg.CallTimeout).After(j.unsure.Add(deduplication))
}

// send makes the call, and reports whether the request was sent: some errors of the SDK come
// before that.
func (c *call) send(positions []int) (out *sqs.SendMessageBatchOutput, sent bool, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.CallTimeout)
	defer cancel()
	in := &sqs.SendMessageBatchInput{QueueUrl: &c.url, Entries: make([]types.SendMessageBatchRequestEntry, 0, len(positions))}
	for _, k := range positions {
		in.Entries = append(in.Entries, c.jobs[k].entry.sent.request(k))
	}
	note := middleware.DeserializeMiddlewareFunc("noteSent", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error) {
		sent = true
		return next.HandleDeserialize(ctx, in)
	})
	out, err = c.target.client.SendMessageBatch(ctx, in, c.target.options, func(o *sqs.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(note, middleware.After) // next is the transport
		})
	})
	return out, sent, err
}

// read sets the results of the messages from SQS's answer, and returns the number of
// throttled ones.
func (c *call) read(out *sqs.SendMessageBatchOutput) (throttled int) {
	ids := make([]*string, len(out.Successful))
	for i, e := range out.Successful {
		ids[i] = e.Id
		if k, err := strconv.Atoi(aws.ToString(e.Id)); err == nil && k >= 0 && k < len(c.jobs) {
			c.jobs[k].sent = e
		}
	}
	return sqserror.ReadAnswer(c.errs, ids, out.Failed)
}

// report calls Config.OnCall.
func (c *call) report(positions []int, began time.Time, failed, throttled int, err error) {
	if c.cfg.OnCall == nil {
		return
	}
	r := Call{URL: c.url, Entries: len(positions), Started: began, Duration: time.Since(began), Failed: failed, Throttled: throttled, Err: err}
	for _, k := range positions {
		e := c.jobs[k].entry
		r.Bytes += e.size
		r.Waited = max(r.Waited, began.Sub(e.came))
		if c.jobs[k].tries > 1 {
			r.Retried++
		}
	}
	c.cfg.OnCall(r)
}

// end records the results of a call and returns the finished messages. It schedules retries
// for the others.
func (s *Sender) end(c *call) (over []outcome) {
	now := time.Now()
	over = make([]outcome, 0, len(c.jobs))
	s.inFlight--
	switch {
	case c.troubled, c.throttled:
		s.pace.failed(c.began, now)
	case c.answered:
		s.pace.worked()
	}
	var again []*entry
	tries := 0
	for k, job := range c.jobs {
		e, err := job.entry, c.errs[k]
		e.call = false
		e.tries, e.unsure = job.tries, job.unsure
		switch {
		case e.over: // given up during the call
			if e.reported {
				s.release(e)
			}
		case err == nil:
			over = append(over, s.finish(e, Result{
				Message: e.message, MessageID: aws.ToString(job.sent.MessageId), SequenceNumber: aws.ToString(job.sent.SequenceNumber), Tries: e.tries,
			}))
		case err == errNoAnswer || sqserror.Passing(err):
			e.err = err
			if e.last {
				over = append(over, s.finish(e, e.failure(ErrWithdrawn)))
				continue
			}
			again = append(again, e)
			tries = max(tries, e.tries)
		default:
			over = append(over, s.finish(e, e.failure(err)))
			over = append(over, s.failBehind(e)...)
		}
	}
	if len(again) > 0 {
		time.AfterFunc(backoff(tries), func() { s.retry(again) })
	}
	s.settled()
	s.dismiss()
	return over
}

// retry queues messages again after their backoff, except those that were given up.
func (s *Sender) retry(list []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range list {
		if !e.over {
			s.again.push(e)
		}
	}
	s.pump()
}
