package sqs

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/draw"
)

// The service requires purgeInterval between two purges of a queue, and recreateInterval
// between deleting a queue and creating one of the same name.
const (
	purgeInterval    = time.Minute
	recreateInterval = time.Minute
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

type createQueueRequest struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}

func (r *createQueueRequest) queueName() string { return r.QueueName }

type queueURLAnswer struct {
	QueueURL string `json:"QueueUrl"`
}

func (s *Server) createQueue(_ *call, in *createQueueRequest) (any, error) {
	given := maps.Clone(in.Attributes)
	fifoValue, fifoGiven := given["FifoQueue"]
	delete(given, "FifoQueue")
	fifo, notFIFO := isTrue(fifoValue), isFalse(fifoValue)
	stem, suffixed := strings.CutSuffix(in.QueueName, ".fifo")
	switch {
	case in.QueueName == "":
		return nil, errMissing("QueueName")
	case fifo && (!suffixed || !queueName.MatchString(stem) || len(in.QueueName) > maxNameBytes):
		return nil, errInvalidParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.")
	case fifoGiven && !fifo && !notFIFO:
		return nil, errAttributeValue("FifoQueue")
	case fifoGiven && !fifo:
		return nil, errUnknownAttribute("FifoQueue") // AWS's answer to false
	case !fifo && !queueName.MatchString(in.QueueName):
		return nil, errInvalidParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	if q := s.queues[in.QueueName]; q != nil {
		return q.matches(given)
	}
	now := time.Now()
	if at, ok := s.deleted[in.QueueName]; ok && now.Before(at.Add(recreateInterval)) {
		return nil, modelled("QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	q := newQueue(in.QueueName, now)
	q.url, q.arn, q.fifo = s.QueueURL(q.name), s.QueueARN(q.name), fifo
	q.uid, q.observer, q.prompt = draw.Rand.Uint64(), s.observer(), s.options.Observe != nil
	attributes, err := merge(initialAttributes(fifo), given, fifo)
	if err != nil {
		return nil, err
	}
	if err := s.checkRedrive(q, attributes); err != nil {
		return nil, err
	}
	if err := q.addTags(in.Tags); err != nil {
		return nil, err
	}
	q.attributes, q.settings = attributes, parseSettings(attributes)
	s.queues[q.name] = q
	delete(s.deleted, q.name)
	return queueURLAnswer{q.url}, nil
}

// matches answers CreateQueue for a queue that exists. It returns an error if an attribute of
// the request differs.
func (q *queue) matches(given map[string]string) (any, error) {
	merged, err := merge(q.attributes, given, q.fifo)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if merged[name] != q.attributes[name] {
			return nil, modelled("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", name)
		}
	}
	return queueURLAnswer{q.url}, nil
}

// find returns the queue of a URL, by the last two segments of its path, or of a bare name,
// which AWS also accepts. The caller holds the lock.
func (s *Server) find(url string) (*queue, *apiError) {
	if s.closed {
		return nil, errClosed()
	}
	if url == "" {
		return nil, errMissing("QueueUrl")
	}
	name, account := url, s.options.AccountID
	if i := strings.LastIndexByte(url, '/'); i >= 0 {
		name, account = url[i+1:], url[:i]
		account = account[strings.LastIndexByte(account, '/')+1:]
	}
	q := s.queues[name]
	if q == nil || account != s.options.AccountID {
		return nil, errNoQueue()
	}
	return q, nil
}

type getQueueURLRequest struct {
	QueueName              string
	QueueOwnerAWSAccountID string `json:"QueueOwnerAWSAccountId"`
}

func (r *getQueueURLRequest) queueName() string { return r.QueueName }

func (s *Server) getQueueURL(_ *call, in *getQueueURLRequest) (any, error) {
	if in.QueueName == "" {
		return nil, errMissing("QueueName")
	}
	owner := cmp.Or(in.QueueOwnerAWSAccountID, s.options.AccountID)
	return s.on(owner+"/"+in.QueueName, func(q *queue, _ time.Time) (any, *apiError) {
		return queueURLAnswer{q.url}, nil
	})
}

func (s *Server) deleteQueue(_ *call, in *queueRequest) (any, error) {
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		q.shut(errNoQueue())
		if q.observer != nil && len(q.messages) > 0 {
			q.observer(Event{Time: now, Kind: Purged, Queue: q.name, QueueURL: q.url}, nil)
		}
		delete(s.queues, q.name)
		s.failMoves(q)
		// Names that may be used again need no entry.
		maps.DeleteFunc(s.deleted, func(_ string, at time.Time) bool { return !now.Before(at.Add(recreateInterval)) })
		s.deleted[q.name] = now
		return nothing{}, nil
	})
}

func (s *Server) purgeQueue(_ *call, in *queueRequest) (any, error) {
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		if !q.purged.IsZero() && now.Before(q.purged.Add(purgeInterval)) {
			return nil, modelled("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name)
		}
		q.purged = now
		q.reset()
		if q.observer != nil {
			q.observer(Event{Time: now, Kind: Purged, Queue: q.name, QueueURL: q.url}, nil)
		}
		return nothing{}, nil
	})
}

func (s *Server) getQueueAttributes(_ *call, in *struct {
	queueRequest
	AttributeNames []string
}) (any, error) {
	return s.on(in.QueueURL, func(q *queue, _ time.Time) (any, *apiError) {
		values, err := q.readAttributes(in.AttributeNames)
		return struct {
			Attributes map[string]string `json:",omitempty"`
		}{values}, err
	})
}

func (s *Server) setQueueAttributes(_ *call, in *struct {
	queueRequest
	Attributes map[string]string
}) (any, error) {
	if len(in.Attributes) == 0 {
		return nil, errMissing("Attributes")
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		given := maps.Clone(in.Attributes)
		if value, ok := given["FifoQueue"]; ok && q.fifo {
			if !isTrue(value) {
				return nil, modelled("InvalidAttributeValue", "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
			}
			delete(given, "FifoQueue")
		}
		attributes, err := merge(q.attributes, given, q.fifo)
		if err != nil {
			return nil, err
		}
		if _, changed := given["RedrivePolicy"]; changed {
			if err := s.checkRedrive(q, attributes); err != nil {
				return nil, err
			}
		}
		q.attributes, q.settings, q.modified = attributes, parseSettings(attributes), now
		if q.fifo {
			q.redelay(now)
		}
		q.advance(now)
		return nothing{}, nil
	})
}
