package longpoll

import (
	"fmt"
	"time"
)

// line is what the log is told of something that fails and works again. What
// flaps is told once a minute; what goes on failing is told in any case, as
// serious from the first minute on, and again and again.
type line struct {
	since time.Time // of failing; zero while it works
	tries int       // that failed since
	told  time.Time // that it fails, the last time
	open  bool      // told that it fails, and not yet that it works
}

const (
	quietFor     = time.Minute
	goesOn       = 5 * time.Second
	seriousAfter = time.Minute
	remindEvery  = 5 * time.Minute
)

// fails notes a try that failed, and reports whether to tell that it fails:
// early, or once it is serious.
func (l *line) fails(now time.Time, early bool) (tell bool) {
	if l.since.IsZero() {
		l.since = now
	}
	l.tries++
	switch {
	case !l.open:
		tell = early && (now.Sub(l.told) >= quietFor || l.failingFor(now) >= goesOn) || l.serious(now)
	case l.serious(now):
		tell = l.told.Before(l.since.Add(seriousAfter)) || now.Sub(l.told) >= remindEvery
	}
	if tell {
		l.open, l.told = true, now
	}
	return tell
}

func (l *line) failingFor(now time.Time) time.Duration {
	if l.since.IsZero() {
		return 0
	}
	return now.Sub(l.since)
}

// serious reports whether it has been failing for so long that somebody should look.
func (l *line) serious(now time.Time) bool { return l.failingFor(now) >= seriousAfter }

// soFar says for how long it has been failing, once that is serious.
func (l *line) soFar(now time.Time) string {
	if !l.serious(now) {
		return ""
	}
	return fmt.Sprintf(", for %v and %d tries by now", l.failingFor(now).Round(time.Second), l.tries)
}

// works notes that it works. It reports whether to tell that, and says after
// how long and how many tries.
func (l *line) works(now time.Time) (tell bool, after string) {
	tell = l.open
	if tell {
		after = fmt.Sprintf("after %v and %d tries that failed", l.failingFor(now).Round(time.Millisecond), l.tries)
	}
	l.open, l.since, l.tries = false, time.Time{}, 0
	return tell, after
}
