package sqs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

type redrivePolicy struct {
	TargetARN       string `json:"deadLetterTargetArn"`
	MaxReceiveCount int    `json:"maxReceiveCount"`
}

type allowPolicy struct {
	Permission string   `json:"redrivePermission"`
	SourceARNs []string `json:"sourceQueueArns,omitempty"`
}

// canonicalRedrivePolicy returns the policy with maxReceiveCount as a number. CloudFormation
// sends a string.
func canonicalRedrivePolicy(name, value string) (string, *apiError) {
	invalid := func(reason string) *apiError { return errValue(value, name, reason) }
	var raw struct {
		TargetARN       *string `json:"deadLetterTargetArn"`
		MaxReceiveCount any     `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(value), &raw); err != nil {
		return "", invalid("Redrive policy is not a valid JSON map.")
	}
	if raw.TargetARN == nil {
		return "", invalid("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	if raw.MaxReceiveCount == nil {
		return "", invalid("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	}
	if !queueARN.MatchString(*raw.TargetARN) {
		return "", invalid("Invalid value for deadLetterTargetArn.")
	}
	count, err := strconv.Atoi(fmt.Sprint(raw.MaxReceiveCount))
	if err != nil || count < 1 || count > 1000 {
		return "", invalid("Invalid value for maxReceiveCount: must be between 1 and 1000.")
	}
	return string(encode(redrivePolicy{*raw.TargetARN, count})), nil
}

func canonicalAllowPolicy(name, value string) (string, *apiError) {
	invalid := func(reason string) *apiError { return errValue(value, name, reason) }
	var policy allowPolicy
	if err := json.Unmarshal([]byte(value), &policy); err != nil {
		return "", invalid("Redrive allow policy is not a valid JSON map.")
	}
	switch policy.Permission {
	case "byQueue":
		if n := len(policy.SourceARNs); n < 1 || n > 10 {
			return "", invalid("byQueue needs 1 to 10 sourceQueueArns.")
		}
		if slices.ContainsFunc(policy.SourceARNs, func(arn string) bool { return !queueARN.MatchString(arn) }) {
			return "", invalid("Invalid value for sourceQueueArns.")
		}
	case "allowAll", "denyAll":
		if len(policy.SourceARNs) > 0 {
			return "", invalid("sourceQueueArns are allowed with redrivePermission byQueue only.")
		}
	default:
		return "", invalid("redrivePermission must be allowAll, denyAll or byQueue.")
	}
	return string(encode(policy)), nil
}

// parsePolicy returns nil for "".
func parsePolicy[P redrivePolicy | allowPolicy](canonical string) *P {
	policy := new(P)
	if json.Unmarshal([]byte(canonical), policy) != nil {
		return nil
	}
	return policy
}

// checkRedrive returns an error if the target of a RedrivePolicy does not exist, is of the
// other type, or does not permit source, the queue that will have the policy.
func (s *Server) checkRedrive(source *queue, attributes map[string]string) *apiError {
	text := attributes["RedrivePolicy"]
	policy := parsePolicy[redrivePolicy](text)
	if policy == nil {
		return nil
	}
	target := s.queueByARN(policy.TargetARN)
	if policy.TargetARN == source.arn {
		target = source // a queue may be its own target, also while it is created
	}
	switch {
	case target == nil:
		return errValue(text, "RedrivePolicy", "Dead letter target does not exist.")
	case target.fifo != source.fifo:
		return errValue(text, "RedrivePolicy", "Dead-letter queue must be same type of queue as the source.")
	case !target.settings.allow.permits(source.arn):
		return errValue(text, "RedrivePolicy", "The dead-letter queue's RedriveAllowPolicy does not permit this source queue.")
	}
	return nil
}

func (p *allowPolicy) permits(sourceARN string) bool {
	return p == nil || p.Permission == "allowAll" ||
		p.Permission == "byQueue" && slices.Contains(p.SourceARNs, sourceARN)
}

// queueByARN returns the queue of an ARN, nil if the server has none.
func (s *Server) queueByARN(arn string) *queue {
	q := s.queues[nameIn(arn)]
	if q == nil || q.arn != arn {
		return nil
	}
	return q
}

// deadLetterQueue returns the queue to which m moves instead of being received again; nil if m
// stays. Receives are counted anew in each queue, so a dead-letter queue that has a
// RedrivePolicy itself applies its own maxReceiveCount.
func (s *Server) deadLetterQueue(q *queue, m *message) *queue {
	policy := q.settings.redrive
	if policy == nil || m.receivedHere < policy.MaxReceiveCount {
		return nil
	}
	return s.queueByARN(policy.TargetARN)
}

// redrive moves m, which is in no heap, to the dead-letter queue. On standard queues the
// enqueue time stays, and retention counts from it. On FIFO queues the enqueue time is now
// (developer guide, "Setting-up dead-letter queue retention"), and the message's id becomes
// its deduplication id ("Learn how to configure a dead-letter queue redrive"), since two
// messages may share a deduplication id.
func (s *Server) redrive(q *queue, m *message, target *queue, now time.Time) {
	var e Event
	if q.observer != nil {
		e = q.event(Redriven, m, now)
		e.DeadLetterQueue = target.name
	}
	q.forget(m, now)
	m.source = q.arn
	if q.fifo {
		renewed := *m.content
		renewed.deduplicationID = renewed.id
		m.content, m.sent = &renewed, now
	}
	if target != q {
		target.advance(now) // messages that became visible there before this one come first
	}
	target.add(m, now, 0)
	s.touched = append(s.touched, target)
	if q.observer != nil {
		q.observer(e, m.content)
	}
}
