package longpoll

// Pause stops receiving until [Poller.Resume], for when what the handler needs
// is down: what waits for a slot is made visible at once, what runs goes on. It
// has no effect while the Poller stops.
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
