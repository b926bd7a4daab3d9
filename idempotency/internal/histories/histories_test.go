package histories_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// virtual are histories in virtual time.
func virtual(store func() idempotency.Store) histories.Config {
	return histories.Config{
		Store: func(f *histories.Faults) idempotency.Store { return f.Around(store()) },
		Few:   500, Many: 3000, Lease: time.Second, Lag: 100 * time.Millisecond, Test: synctest.Test,
	}
}

func TestMemory(t *testing.T) {
	histories.Check(t, virtual(func() idempotency.Store { return idempotency.NewMemory() }))
}

func TestMutants(t *testing.T) {
	for name, m := range map[string]mistakes{
		"Complete without a condition":           {completeAny: true},
		"Complete gets, then puts":               {completeLater: true},
		"Complete loses the result":              {loseResult: true},
		"Release without a condition":            {releaseAny: true},
		"Release deletes a completion":           {releaseDone: true},
		"Release does nothing":                   {releaseNot: true},
		"Renew without a condition":              {renewAny: true},
		"Renew does nothing":                     {renewNot: true},
		"Renew shortens":                         {renewShortens: true},
		"Claim ignores the lease":                {takeAny: true},
		"Claim takes over what ends soon":        {early: 300 * time.Millisecond},
		"Claim never takes over":                 {takeNever: true},
		"Claim takes over a completion":          {takeDone: true},
		"Claim gets, then puts":                  {claimLater: true},
		"Claim is refused to the same owner":     {strange: true},
		"Claim has the wrong time until it ends": {wrongLeft: true},
		"no mistake":                             {},
	} {
		t.Run(name, func(t *testing.T) {
			mistaken := virtual(func() idempotency.Store { return newBroken(m) })
			if m == (mistakes{}) {
				histories.Check(t, mistaken)
				return
			}
			random.Catch(t, 500, func(t *testing.T, seed uint64) string { return mistaken.Find(t, seed, random.Seen{}) })
		})
	}
}
