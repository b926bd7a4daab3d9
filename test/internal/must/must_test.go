package must

import (
	"errors"
	"testing"
)

var errFirst, errClose = errors.New("first"), errors.New("close")

// step is a helper without Return.
func step(err error) int {
	if err != nil {
		Failf("step: %w", err)
	}
	return Get(1, err)
}

func steps(n *int, fails error) (err error) {
	defer Return(&err)
	defer func() { err = errors.Join(err, errClose) }()
	*n = step(nil)
	first, second := Get2(1, 2, nil)
	*n += first + second + step(fails)
	return nil
}

func TestReturn_IsTheFirstErrorAndThoseOfDeferredCalls(t *testing.T) {
	n := 0
	if err := steps(&n, errFirst); n != 1 || !errors.Is(err, errFirst) || !errors.Is(err, errClose) {
		t.Errorf("after an error: %d, %v", n, err)
	}
	if err := steps(&n, nil); n != 5 || err.Error() != errClose.Error() {
		t.Errorf("without one: %d, %v", n, err)
	}
}

func TestRun_IsTheErrorThatEndedIt(t *testing.T) {
	if err := Run(func() { Do(nil); step(errFirst) }); !errors.Is(err, errFirst) || err.Error() != "step: first" {
		t.Errorf("%v", err)
	}
	if err := Run(func() { step(nil) }); err != nil {
		t.Errorf("without one: %v", err)
	}
}

func TestReturn_LeavesOtherPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != "other" {
			t.Errorf("recovered %v", got)
		}
	}()
	var err error
	defer Return(&err)
	panic("other")
}
