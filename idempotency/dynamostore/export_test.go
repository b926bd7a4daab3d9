package dynamostore

import "time"

// SetClock has a store take the time from elsewhere.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
