package model

import "slices"

// ring is a queue: first in, first out.
type ring[T any] struct {
	list []T
	head int
}

func (r *ring[T]) len() int   { return len(r.list) - r.head }
func (r *ring[T]) first() T   { return r.list[r.head] }
func (r *ring[T]) push(v T)   { r.list = append(r.list, v) }
func (r *ring[T]) items() []T { return r.list[r.head:] }

func (r *ring[T]) pop() T {
	var zero T
	v := r.list[r.head]
	r.list[r.head] = zero
	if r.head++; r.head == len(r.list) {
		r.list, r.head = r.list[:0], 0
	} else if r.head > 1024 && r.head > len(r.list)/2 {
		r.list, r.head = append(r.list[:0], r.list[r.head:]...), 0
	}
	return v
}

// unshift adds an item at the front.
func (r *ring[T]) unshift(v T) {
	if r.head > 0 {
		r.head--
		r.list[r.head] = v
		return
	}
	r.list = slices.Insert(r.list, 0, v)
}

// remove removes the items for which drop returns true.
func (r *ring[T]) remove(drop func(T) bool) {
	r.list, r.head = slices.DeleteFunc(append(r.list[:0], r.list[r.head:]...), drop), 0
}

// heap has its first item by before at position 0.
type heap[T interface{ before(T) bool }] []T

func (h *heap[T]) push(v T) {
	*h = append(*h, v)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].before(list[up]) {
			break
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

func (h *heap[T]) pop() T {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	clear(list[last:])
	list = list[:last]
	*h = list
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first
		}
		if down+1 < last && list[down+1].before(list[down]) {
			down++
		}
		if !list[down].before(list[i]) {
			return first
		}
		list[i], list[down] = list[down], list[i]
		i = down
	}
}
