package sender

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// prepareLater has a message prepared. At most Config.Concurrency are prepared at a time.
func (s *Sender) prepareLater(e *entry) {
	s.raw.PushBack(e)
	if s.preparing < s.cfg.Concurrency {
		s.preparing++
		go s.prepareAll()
	}
}

// prepareAll prepares messages until none is left.
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

// prepare prepares a message, without the lock meanwhile.
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

// prepared returns a message as Config.Prepare changed it, or why it cannot be sent.
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

// label adds the correlation id and the trace to a message that is complete otherwise. It
// returns the function for the message's result, or nil. What has no room is left out: it
// is no reason not to send a message.
func (s *Sender) label(ctx context.Context, m *Message) (traced func(Result)) {
	record, in := batch.RecordFrom(ctx)
	if name := s.cfg.CorrelationAttribute; name != "" && in {
		labelled := *m
		labelled.correlate(name, &record)
		m.take(labelled)
	}
	if s.cfg.Trace != nil {
		labelled := *m
		traced = s.cfg.Trace(ctx, s.cfg.Queue, &labelled)
		m.take(labelled)
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

// take takes over the attributes of a copy that has more of them, if there is room.
func (m *Message) take(labelled Message) {
	if len(labelled.Attributes) <= maxAttributes && labelled.size() <= maxBytes {
		m.Attributes = labelled.Attributes
	}
}
