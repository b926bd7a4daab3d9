package longpoll

// recent remembers the latest messages that were handled and deleted.
type recent struct {
	ids  map[string]int // where in ring
	ring []string
	next int
}

const maxRecent = 10_000

func (r *recent) has(id string) bool {
	_, ok := r.ids[id]
	return ok
}

func (r *recent) add(id string) {
	if r.has(id) {
		return
	}
	if r.ids == nil {
		r.ids = make(map[string]int)
	}
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, "")
	}
	if old := r.ring[r.next]; old != "" {
		delete(r.ids, old)
	}
	r.ring[r.next] = id
	r.ids[id] = r.next
	r.next = (r.next + 1) % maxRecent
}
