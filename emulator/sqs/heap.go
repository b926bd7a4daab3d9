package sqs

import stdheap "container/heap"

// heap is a binary heap that stores each item's index in the item, so that any item can be
// removed or moved in O(log n).
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	// place stores an item's index, -1 after its removal.
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

func (h *heap[T]) push(item T) { stdheap.Push((*ordered[T])(h), item) }

func (h *heap[T]) remove(i int) T { return stdheap.Remove((*ordered[T])(h), i).(T) }

// fix restores the order after the item at i has changed.
func (h *heap[T]) fix(i int) { stdheap.Fix((*ordered[T])(h), i) }

// ordered implements container/heap.Interface.
type ordered[T any] heap[T]

func (h *ordered[T]) Len() int { return len(h.items) }

func (h *ordered[T]) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }

func (h *ordered[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.place(h.items[i], i)
	h.place(h.items[j], j)
}

func (h *ordered[T]) Push(item any) {
	h.items = append(h.items, item.(T))
	h.place(item.(T), len(h.items)-1)
}

func (h *ordered[T]) Pop() any {
	last := len(h.items) - 1
	item := h.items[last]
	clear(h.items[last:]) // frees the item
	h.items = h.items[:last]
	h.place(item, -1)
	return item
}
