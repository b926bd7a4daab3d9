package histories

import (
	"github.com/anishathalye/porcupine"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

// state is the state of a key in the model. A claim ends between from and until, because the
// moment at which the store read the clock is unknown. A takeover is right if the call may have
// taken effect after from. A refusal is right if it may have taken effect before until. So the
// model never rejects a permitted answer.
type state struct {
	state       idempotency.State // 0 for a free key
	owner       string
	result      string
	from, until int64
}

func model(slack int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, input, _ any) (bool, any) {
			s, c := before.(state), input.(*call)
			if c.kind == claim {
				return s.claim(c, slack)
			}
			return s.owned(c)
		},
	}
}

// held returns the state after a claim or renewal, which never shortens the claim.
func (s state) held(c *call) state {
	after := state{state: idempotency.InProgress, owner: c.owner, from: c.begin + c.lease, until: c.end + c.lease}
	if s.state == idempotency.InProgress && s.owner == c.owner {
		after.from, after.until = max(s.from, after.from), max(s.until, after.until)
	}
	return after
}

func (s state) claim(c *call, slack int64) (right bool, after state) {
	others := s.state == idempotency.InProgress && s.owner != c.owner
	if c.unknown {
		// The call may have taken effect. If it did not, that is the same as an effect after
		// all other calls, which porcupine tries by itself.
		if s.state == idempotency.Completed {
			return true, s
		}
		return true, s.held(c)
	}
	switch c.found.State {
	case idempotency.Claimed:
		return s.state != idempotency.Completed && (!others || c.end+slack >= s.from), s.held(c)
	case idempotency.InProgress:
		left := c.found.Left.Nanoseconds()
		return others && c.begin <= s.until+slack && left <= s.until-c.begin+slack && left >= s.from-c.end-slack, s
	case idempotency.Completed:
		return s.state == idempotency.Completed && string(c.found.Result) == s.result, s
	}
	return false, s
}

// owned returns the step of a call that only the claim's owner may make.
func (s state) owned(c *call) (right bool, after state) {
	may := s.owner == c.owner && (s.state == idempotency.InProgress || c.kind == complete && s.state == idempotency.Completed)
	switch {
	case !may:
		// Release may return nil for others, too.
		return c.unknown || c.refused || c.kind == release, s
	case c.refused:
		return false, s
	case c.kind == renew:
		return true, s.held(c)
	case c.kind == complete:
		return true, state{state: idempotency.Completed, owner: c.owner, result: c.result}
	default:
		return true, state{}
	}
}
