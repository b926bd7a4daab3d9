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

// deduplication is how long a FIFO queue knows a deduplication id, see "Exactly-once
// processing" in the developer guide.
const deduplication = 5 * time.Minute

// errNoAnswer is the error of a message that SQS's answer does not mention.
var errNoAnswer = errors.New("SQS's answer does not mention the message")

// call sends messages. A worker makes it. Its jobs are copies of what the lock guards.
type call struct {
	*Sender
	url   string
	began time.Time
	jobs  []job
	errs  []error // by position; nil if SQS has confirmed the message

	answered  bool // by SQS, at least once
	throttled bool // at least one message
	troubled  bool // SQS did not answer, throttled the call, or had an internal error
}

// job is a message of a call.
type job struct {
	entry  *entry
	tries  int
	unsure time.Time
	sent   types.SendMessageBatchResultEntry
}

// begin has a worker make a call.
func (s *Sender) begin(batch []*entry, now time.Time) {
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

// work is a worker: it makes calls, one after another, and reports their results. A new
// goroutine for each call would cost more, because the SDK's call makes its stack grow
// several times.
func (s *Sender) work(c *call) {
	calls := make(chan *call, 1)
	for c != nil {
		c.make()
		s.mu.Lock()
		over := s.end(c)
		s.mu.Unlock()
		s.tell(over)
		s.mu.Lock()
		s.idle = append(s.idle, calls)
		s.dismiss()
		s.mu.Unlock()
		c = <-calls
	}
}

// dismiss ends workers that wait for a call, until no more of them wait than calls are in
// flight. So none is left when the sender has nothing to do.
func (s *Sender) dismiss() {
	for len(s.idle) > s.inFlight {
		last := len(s.idle) - 1
		s.idle[last] <- nil
		s.idle = s.idle[:last]
	}
}

// make makes the call; if SQS refuses it as a whole, for its halves.
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

// open returns those of some positions whose messages are not over.
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

// try makes the call once for the messages at some positions, without those that were given
// up meanwhile and those for which it is too late. The positions are also their ids. It returns the positions that its error is
// about.
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
			c.errs[k] = errNoAnswer // unless the answer says otherwise
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

// tooLate reports whether another try of a message could arrive after the time in which a
// FIFO queue recognizes the first one.
func (c *call) tooLate(j *job, now time.Time) bool {
	return c.fifo && !j.unsure.IsZero() && now.Add(c.cfg.CallTimeout).After(j.unsure.Add(deduplication))
}

// send makes the call, and reports whether the request was sent: the SDK also returns errors
// of its own before that.
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

// read reads the answer to a call. It returns how many messages are throttled.
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

// report calls the user's function after a call.
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

// end takes over what a call found out. It returns the messages that are over now. Others
// have another try later.
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
		case e.over: // it was given up during the call
			if e.told {
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

// retry has messages sent again after their backoff, except those that were given up.
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
