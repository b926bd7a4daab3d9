package sqs

// ring holds the latest items. They are in chunks, in place of one slice,
// because that would be copied again and again on its way to the limit.
type ring[T any] struct {
	chunks [][]T // all but the last one are full
	gone   int   // items at the front of the first chunk that were dropped
	spare  []T   // a chunk that was given up
}

const chunkItems = 512

func (r *ring[T]) add(item T) {
	switch last := len(r.chunks) - 1; {
	case last < 0: // it grows by append: most servers are small
		r.chunks = append(r.chunks, []T{item})
	case len(r.chunks[last]) == chunkItems:
		if r.spare == nil {
			r.spare = make([]T, 0, chunkItems)
		}
		r.chunks = append(r.chunks, append(r.spare, item))
		r.spare = nil
	default:
		r.chunks[last] = append(r.chunks[last], item)
	}
}

// drop removes the oldest item, which must be there.
func (r *ring[T]) drop() T {
	first := r.chunks[0]
	item := first[r.gone]
	clear(first[r.gone : r.gone+1]) // it may hold on to something
	if r.gone++; r.gone == chunkItems {
		r.chunks[0], r.spare, r.gone = nil, first[:0], 0
		r.chunks = r.chunks[1:]
	}
	return item
}

func (r *ring[T]) len() int {
	if len(r.chunks) == 0 {
		return 0
	}
	last := len(r.chunks) - 1
	return last*chunkItems + len(r.chunks[last]) - r.gone
}

// each calls a function with all items, from oldest to latest.
func (r *ring[T]) each(do func(*T)) {
	from := r.gone
	for _, chunk := range r.chunks {
		for i := from; i < len(chunk); i++ {
			do(&chunk[i])
		}
		from = 0
	}
}
