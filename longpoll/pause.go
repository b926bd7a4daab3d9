package longpoll

// Pause stops receiving until [Poller.Resume], for when what the handler needs
// is down: what runs goes on, and what waits for a slot is made visible as soon as
// no receive is open that would take it again, after 0.2 s at most, or 2 s where
// one may be on its way with messages. It has no effect while the Poller stops.
func (p *Poller) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return
	}
	p.paused = true
	if p.phase != polling {
		return
	}
	p.holdBack() // also where nothing waits: a receive must not bring anything now
	p.releaseAll(p.takeWaiting())
}

// Resume begins receiving again after [Poller.Pause].
func (p *Poller) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused {
		return
	}
	p.paused = false
	if p.phase == polling {
		p.intake.open(p.base)
		p.receiveMore()
	}
}
