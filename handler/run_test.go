package handler

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignalRepeatedWithinASecond_CountsAsOne(t *testing.T) {
	type sent struct {
		after time.Duration // the one before
		what  os.Signal
	}
	for name, c := range map[string]struct {
		signals []sent
		ended   bool
	}{
		"once":                     {[]sent{{0, syscall.SIGTERM}}, false},
		"to the process and group": {[]sent{{0, syscall.SIGTERM}, {0, syscall.SIGTERM}}, false},
		"three times":              {[]sent{{0, os.Interrupt}, {400 * time.Millisecond, os.Interrupt}, {599 * time.Millisecond, os.Interrupt}}, false},
		"again after a second":     {[]sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGTERM}}, true},
		"twice, and again":         {[]sent{{0, syscall.SIGTERM}, {0, syscall.SIGTERM}, {time.Minute, syscall.SIGTERM}}, true},
		"another one":              {[]sent{{0, syscall.SIGTERM}, {0, os.Interrupt}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				stopped, ended := 0, false
				go func() {
					untilSecond(signals, func() { stopped++ })
					ended = true
				}()
				for _, s := range c.signals {
					time.Sleep(s.after)
					signals <- s.what
					synctest.Wait()
				}
				if stopped != 1 || ended != c.ended {
					t.Errorf("stopped %d times, ended at once: %v, want %v", stopped, ended, c.ended)
				}
				if !ended {
					close(signals)
				}
			})
		})
	}
}
