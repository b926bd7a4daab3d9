package must

import (
	"errors"
	"testing"
)

var errFirst, errClose = errors.New("first"), errors.New("close")

// step is a helper without Return.
func step(err error) int { return Get(1, err) }

func steps(err error) (n int, _ error) {
	var result error
	func() {
		defer Return(&result)
		defer func() { result = errors.Join(result, errClose) }()
		n = step(nil)
		first, second := Get2(1, 2, nil)
		n += first + second + step(err)
		Do(nil)
	}()
	return n, result
}

func TestReturn_IsTheFirstErrorAndThoseOfDeferredCalls(t *testing.T) {
	if n, err := steps(errFirst); n != 1 || !errors.Is(err, errFirst) || !errors.Is(err, errClose) {
		t.Errorf("after an error: %d, %v", n, err)
	}
	if n, err := steps(nil); n != 5 || err.Error() != errClose.Error() {
		t.Errorf("without one: %d, %v", n, err)
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
