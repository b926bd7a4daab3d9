package sender

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// prepareLater queues a message for Config.Prepare, which runs at most Config.Concurrency
// times at once.
func (s *Sender) prepareLater(e *entry) {
	s.raw.PushBack(e)
	if s.preparing < s.cfg.Concurrency {
		s.preparing++
		go s.prepareAll()
	}
}

// prepareAll prepares queued messages until none is left.
func (s *Sender) prepareAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for front := s.raw.Front(); front != nil; front = s.raw.Front() {
		e := s.raw.Remove(front).(*entry)
		if !e.over {
			s.prepare(e)
		}
	}
	s.preparing--
	s.pump()
}

// prepare prepares a message. It releases the caller's lock meanwhile.
func (s *Sender) prepare(e *entry) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	defer cancel()
	e.cancel = cancel
	s.mu.Unlock()
	m, err := s.prepared(ctx, e.message)
	var traced func(Result)
	if err == nil {
		traced = s.label(ctx, &m)
	}
	s.mu.Lock()
	if e.over {
		if traced != nil {
			go traced(e.failure(ErrWithdrawn))
		}
		return
	}
	e.sent, e.size, e.wrong, e.traced, e.ready = m, m.size(), err, traced, true
	e.since = time.Now()
	if e.lane == nil || e.lane.first == e {
		s.admit(e)
		s.pump()
	}
}

// prepared returns the message that Config.Prepare made of m, or why it cannot be sent.
func (s *Sender) prepared(ctx context.Context, m Message) (_ Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sender: Prepare panicked: %v\n%s", v, debug.Stack())
		}
	}()
	group, id := m.Group, m.DeduplicationID
	attributes := make(map[string]batch.MessageAttribute, len(m.Attributes)+1)
	maps.Copy(attributes, m.Attributes)
	m.Attributes = attributes
	if err := s.cfg.Prepare(ctx, &m); err != nil {
		return m, err
	}
	m.Group, m.DeduplicationID = group, id
	return m, m.check(s.fifo)
}

// label adds the correlation id and the trace to a message. It leaves out attributes for
// which there is no room. traced, which may be nil, gets the message's result.
func (s *Sender) label(ctx context.Context, m *Message) (traced func(Result)) {
	record, in := batch.RecordFrom(ctx)
	if name := s.cfg.CorrelationAttribute; name != "" && in {
		labelled := *m
		labelled.correlate(name, &record)
		m.adopt(labelled)
	}
	if s.cfg.Trace != nil {
		labelled := *m
		traced = s.cfg.Trace(ctx, s.cfg.Queue, &labelled)
		m.adopt(labelled)
		m.TraceHeader = labelled.TraceHeader
	}
	if m.TraceHeader == "" && in {
		m.TraceHeader = record.TraceHeader
	}
	if m.TraceHeader == "" {
		m.TraceHeader, _ = ctx.Value("x-amzn-trace-id").(string) // as aws-lambda-go puts it there
	}
	return traced
}

// correlate adds the record's correlation id, unless the message has one.
func (m *Message) correlate(name string, r *batch.Record) {
	value := r.MessageAttributes[name].StringValue
	if value == "" {
		value = r.MessageID
	}
	if _, there := m.Attributes[name]; there || value == "" {
		return
	}
	attributes := make(map[string]batch.MessageAttribute, len(m.Attributes)+1)
	maps.Copy(attributes, m.Attributes)
	attributes[name] = batch.MessageAttribute{DataType: "String", StringValue: value}
	m.Attributes = attributes
}

// adopt copies the attributes of a labelled copy, if there is room for them.
func (m *Message) adopt(labelled Message) {
	if len(labelled.Attributes) <= maxAttributes && labelled.size() <= maxBytes {
		m.Attributes = labelled.Attributes
	}
}
