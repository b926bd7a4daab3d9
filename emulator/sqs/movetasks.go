package sqs

import (
	"regexp"
	"strings"
	"time"
)

var queueARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,80}$`)

type startMoveRequest struct {
	SourceARN                    string `json:"SourceArn"`
	DestinationARN               string `json:"DestinationArn"`
	MaxNumberOfMessagesPerSecond *int
}

func (r *startMoveRequest) queueName() string { return nameIn(r.SourceARN) }

// nameIn returns the queue's name, which ends its ARN and its URL.
func nameIn(arnOrURL string) string { return arnOrURL[strings.LastIndexAny(arnOrURL, ":/")+1:] }

// onARN is on for a queue that a parameter names by its ARN.
func (s *Server) onARN(parameter, arn string, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	if err := s.checkARN(parameter, arn); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	q := s.queueByARN(arn)
	if q == nil {
		return nil, errNoResource(parameter)
	}
	return s.onQueue(q, run)
}

func (s *Server) checkARN(parameter, arn string) *apiError {
	switch {
	case arn == "":
		return errMissing(parameter)
	case !queueARN.MatchString(arn):
		return errValue(arn, parameter, "Must be the ARN of a queue: arn:aws:sqs:<region>:<account>:<name>.")
	}
	return nil
}

func errNoResource(parameter string) *apiError {
	return modelled("ResourceNotFoundException", "The resource that you specified for the %s parameter doesn't exist.", parameter)
}

// startMessageMoveTask checks and begins a task. Without a rate it moves as
// many messages per second as a task may; AWS says only that it optimizes.
func (s *Server) startMessageMoveTask(_ *call, in *startMoveRequest) (any, error) {
	rate := maxMoveRate
	if in.MaxNumberOfMessagesPerSecond != nil {
		if rate = *in.MaxNumberOfMessagesPerSecond; rate < 1 || rate > maxMoveRate {
			return nil, errValue(rate, "MaxNumberOfMessagesPerSecond", "Must be between 1 and 500, if provided.")
		}
	}
	return s.onARN("SourceArn", in.SourceARN, func(q *queue, now time.Time) (any, *apiError) {
		destination, err := s.moveDestination(q, in.DestinationARN)
		switch {
		case err != nil:
			return nil, err
		case len(s.sources(q)) == 0:
			return nil, errInvalidParameter("Source queue must be configured as a Dead Letter Queue.")
		case q.moving != nil:
			return nil, errInvalidParameter("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		case len(s.moving) >= maxActiveMoves:
			return nil, modelled("RequestThrottled", "There are already %d active message move tasks.", maxActiveMoves)
		}
		interval := time.Second / time.Duration(rate)
		t := &moveTask{
			id: newID(), source: q, destination: destination, rate: in.MaxNumberOfMessagesPerSecond,
			interval: interval, started: now, next: now.Add(interval), toMove: len(q.messages), status: moveRunning,
		}
		s.begin(t)
		return struct{ TaskHandle string }{t.handle()}, nil
	})
}

// moveDestination returns nil when the request names none.
func (s *Server) moveDestination(source *queue, arn string) (*queue, *apiError) {
	if arn == "" {
		return nil, nil
	}
	if err := s.checkARN("DestinationArn", arn); err != nil {
		return nil, err
	}
	q := s.queueByARN(arn)
	switch {
	case q == nil:
		return nil, errNoResource("DestinationArn")
	case q == source:
		return nil, errValue(arn, "DestinationArn", "The source and the destination queue must differ.")
	case q.fifo != source.fifo:
		return nil, errValue(arn, "DestinationArn", "The source and the destination queue must be of the same type.")
	}
	return q, nil
}

type listMovesRequest struct {
	SourceARN  string `json:"SourceArn"`
	MaxResults *int
}

func (r *listMovesRequest) queueName() string { return nameIn(r.SourceARN) }

type listedMove struct {
	ApproximateNumberOfMessagesMoved  int
	ApproximateNumberOfMessagesToMove int
	DestinationARN                    string `json:"DestinationArn,omitempty"`
	FailureReason                     string `json:",omitempty"`
	MaxNumberOfMessagesPerSecond      *int   `json:",omitempty"`
	SourceARN                         string `json:"SourceArn"`
	StartedTimestamp                  int64  // milliseconds since 1970
	Status                            moveStatus
	TaskHandle                        string `json:",omitempty"`
}

// listMessageMoveTasks lists the latest tasks first.
func (s *Server) listMessageMoveTasks(_ *call, in *listMovesRequest) (any, error) {
	limit := 1
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > listedMoveTasks {
			return nil, errValue(limit, "MaxResults", "Must be between 1 and 10, if provided.")
		}
	}
	return s.onARN("SourceArn", in.SourceARN, func(q *queue, _ time.Time) (any, *apiError) {
		results := []listedMove{}
		for i := len(q.moves) - 1; i >= 0 && len(results) < limit; i-- {
			results = append(results, q.moves[i].listed())
		}
		return struct{ Results []listedMove }{results}, nil
	})
}

func (t *moveTask) listed() listedMove {
	l := listedMove{
		ApproximateNumberOfMessagesMoved: t.moved, ApproximateNumberOfMessagesToMove: t.toMove,
		FailureReason: t.reason, MaxNumberOfMessagesPerSecond: t.rate, SourceARN: t.source.arn,
		StartedTimestamp: t.started.UnixMilli(), Status: t.status,
	}
	if t.destination != nil {
		l.DestinationARN = t.destination.arn
	}
	if t.status == moveRunning {
		l.TaskHandle = t.handle()
	}
	return l
}

type cancelMoveRequest struct{ TaskHandle string }

func (r *cancelMoveRequest) queueName() string {
	handle, _ := parseTaskHandle(r.TaskHandle)
	return nameIn(handle.SourceARN)
}

// cancelMessageMoveTask stops a task; what has moved stays where it is.
func (s *Server) cancelMessageMoveTask(_ *call, in *cancelMoveRequest) (any, error) {
	if in.TaskHandle == "" {
		return nil, errMissing("TaskHandle")
	}
	handle, ok := parseTaskHandle(in.TaskHandle)
	if !ok {
		return nil, errInvalidParameter("Value for parameter TaskHandle is invalid.")
	}
	return s.onARN("SourceArn", handle.SourceARN, func(q *queue, _ time.Time) (any, *apiError) {
		for _, t := range q.moves {
			if t.id != handle.TaskID {
				continue
			}
			if t.status != moveRunning {
				return nil, modelled("UnsupportedOperation", "The task's status is %s: only a task that is RUNNING can be cancelled.", t.status)
			}
			s.end(t, moveCancelled, "")
			return struct{ ApproximateNumberOfMessagesMoved int }{t.moved}, nil
		}
		return nil, modelled("ResourceNotFoundException", "Task does not exist.")
	})
}
