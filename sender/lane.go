package sender

// lane has the messages of a FIFO group. Only the first message is in a call, waits for one,
// or backs off. So at most one message of a group is in flight, and retries keep the order.
type lane struct {
	first   *entry
	waiting queue // behind the first
}

// enter puts a message into the lane of its group.
func (s *Sender) enter(e *entry) {
	group := e.message.Group
	l := s.lanes[group]
	if l == nil {
		l = &lane{}
		s.lanes[group] = l
	}
	e.lane = l
	if l.first != nil {
		l.waiting.push(e)
		return
	}
	l.first = e
	s.admit(e)
}

// advance admits the next message of a group after the first one has left the buffer. The
// next one has waited, so it does not linger.
func (s *Sender) advance(left *entry) {
	l := left.lane
	if l == nil || l.first != left {
		return
	}
	l.first = l.waiting.first()
	if l.first == nil {
		delete(s.lanes, left.message.Group)
		return
	}
	l.first.leave()
	l.first.atOnce = true
	s.admit(l.first)
}

// failBehind fails the messages that wait behind a failed one. Others can arrive until the
// failed one has left the buffer, so deliver calls failBehind again.
func (s *Sender) failBehind(failed *entry) (over []outcome) {
	l := failed.lane
	if l == nil || l.first != failed {
		return nil
	}
	failed.failed = true
	for e := l.waiting.first(); e != nil; e = l.waiting.first() {
		result := e.failure(ErrGroupFailed)
		over = append(over, s.finish(e, result))
	}
	return over
}
