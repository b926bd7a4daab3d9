package sqs

// heap is a binary heap whose items know their own place in it, so that any
// item can be removed or moved in O(log n).
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	// place tells an item where it now is; -1 when it has left the heap.
	place func(item T, index int)
}

func (h *heap[T]) len() int { return len(h.items) }

// first returns the least item, or the zero value of an empty heap.
func (h *heap[T]) first() (item T) {
	if len(h.items) > 0 {
		item = h.items[0]
	}
	return item
}

func (h *heap[T]) push(item T) {
	h.items = append(h.items, item)
	h.place(item, len(h.items)-1)
	h.up(len(h.items) - 1)
}

func (h *heap[T]) remove(i int) T {
	item, last := h.items[i], len(h.items)-1
	h.swap(i, last)
	var none T
	h.items[last] = none // let the collector have what it points to
	h.items = h.items[:last]
	if i < last {
		h.fix(i)
	}
	h.place(item, -1)
	return item
}

// fix restores the order after the item at i has changed.
func (h *heap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap[T]) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return moved
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			return moved
		}
		h.swap(i, child)
		i, moved = child, true
	}
}

func (h *heap[T]) swap(i, j int) {
	if i == j {
		return
	}
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.place(h.items[i], i)
	h.place(h.items[j], j)
}
