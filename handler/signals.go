package handler

import (
	"os"
	"time"
)

// sameStop is for how long a signal that comes again is taken for the one
// before: who signals a process and its group, as timeout of the GNU coreutils
// does, sends a child one stop twice.
const sameStop = time.Second

// untilSecond calls stop at the first signal, and returns at the second: another
// one, or the same again later than sameStop.
func untilSecond(signals <-chan os.Signal, stop func()) {
	first := <-signals
	at := time.Now()
	stop()
	for s := range signals {
		if s != first || time.Since(at) >= sameStop {
			return
		}
	}
}
