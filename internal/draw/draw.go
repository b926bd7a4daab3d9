// Package draw has random numbers that a test can repeat: testing/cryptotest.SetGlobalRandom seeds
// crypto/rand, from which they come. No function seeds the global numbers of math/rand/v2, which are
// faster by a tenth of a microsecond.
package draw

import (
	crypto "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Rand draws numbers. Unlike others of its type it is safe for concurrent use: it has no state.
var Rand = rand.New(source{})

type source struct{}

// Uint64 implements rand.Source.
func (source) Uint64() uint64 {
	var b [8]byte
	_, _ = crypto.Read(b[:]) // it never returns an error
	return binary.LittleEndian.Uint64(b[:])
}

// minBackoff is the shortest backoff: a shorter one would overload a dependency that is down.
const minBackoff = time.Second

// FullJitter returns a random number of whole seconds, from 1 s to base × 2^(attempt−1), but at most
// limit.
func FullJitter(random *rand.Rand, base, limit time.Duration, attempt int) time.Duration {
	longest := base
	for i := 1; i < attempt && longest < limit; i++ {
		longest *= 2
	}
	longest = min(longest, limit)
	if longest <= minBackoff {
		return minBackoff
	}
	return minBackoff * (1 + time.Duration(random.Int64N(int64(longest/minBackoff))))
}
