package sqs

// ring holds the latest items, at most limit of them. They are in chunks, in
// place of one slice, because that would be copied again and again on its way
// to the limit.
type ring[T any] struct {
	limit  int
	chunks [][]T // all but the last one are full
	next   int   // where the oldest is, once limit is reached
}

const chunkItems = 512

func (r *ring[T]) add(item T) {
	switch last := len(r.chunks) - 1; {
	case r.limit <= 0:
	case r.len() == r.limit:
		*r.at(r.next) = item
		r.next = (r.next + 1) % r.limit
	case last < 0: // it grows by append: most servers are small
		r.chunks = append(r.chunks, []T{item})
	case len(r.chunks[last]) == chunkItems:
		r.chunks = append(r.chunks, append(make([]T, 0, chunkItems), item))
	default:
		r.chunks[last] = append(r.chunks[last], item)
	}
}

func (r *ring[T]) len() int {
	if len(r.chunks) == 0 {
		return 0
	}
	last := len(r.chunks) - 1
	return last*chunkItems + len(r.chunks[last])
}

func (r *ring[T]) at(i int) *T { return &r.chunks[i/chunkItems][i%chunkItems] }

// all returns the wanted items, from oldest to latest.
func (r *ring[T]) all(wanted func(T) bool) []T {
	var list []T
	for n, i := r.len(), 0; i < n; i++ {
		if item := *r.at((r.next + i) % n); wanted(item) {
			list = append(list, item)
		}
	}
	return list
}
