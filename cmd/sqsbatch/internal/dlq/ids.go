package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ids is a set of message ids that forgets old ones, so that its size is bounded: it
// remembers at least the last idsKept. The zero value is empty.
type ids struct{ young, old map[[16]byte]struct{} }

const idsKept = 500_000

// key is the 16 bytes of a UUID, which SQS's ids are; of another server's id, a digest.
func key(id string) (k [16]byte) {
	if raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", "")); err == nil && len(raw) == len(k) {
		return [16]byte(raw)
	}
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

func (s *ids) has(id string) bool {
	k := key(id)
	_, young := s.young[k]
	_, old := s.old[k]
	return young || old
}

func (s *ids) add(id string) {
	if len(s.young) >= idsKept {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[[16]byte]struct{}{}
	}
	s.young[key(id)] = struct{}{}
}
