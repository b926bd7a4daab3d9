package lambda

import (
	"testing"
	"time"
)

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// AwaitExit waits until the idle environments' processes are gone.
func (d *Deployment) AwaitExit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, env := range d.idle {
		if p := env.process; p != nil {
			<-p.exited
		}
	}
}

// SetInitTimeout sets the limit of a process's start.
func (d *Deployment) SetInitTimeout(limit time.Duration) { d.init = limit }
