package sqs

import "time"

// deduplicationWindow is SQS's deduplication interval. It starts with the
// first send and neither a duplicate nor the message's deletion changes it.
const deduplicationWindow = 5 * time.Minute

// deduplication remembers the sends of the last five minutes.
type deduplication struct {
	sends map[string]pastSend
	// order has the keys of sends from oldest to newest.
	order []string
}

type pastSend struct {
	messageID string
	sequence  uint64
	until     time.Time
}

// find returns the earlier send that one with this key would duplicate.
func (d *deduplication) find(key string, now time.Time) (pastSend, bool) {
	for len(d.order) > 0 && !d.sends[d.order[0]].until.After(now) {
		delete(d.sends, d.order[0])
		d.order = d.order[1:]
	}
	past, ok := d.sends[key]
	return past, ok
}

// remember keeps a send that find did not know.
func (d *deduplication) remember(key string, m *message, now time.Time) {
	if d.sends == nil {
		d.sends = map[string]pastSend{}
	}
	d.sends[key] = pastSend{m.content.id, m.sequence, now.Add(deduplicationWindow)}
	d.order = append(d.order, key)
}
