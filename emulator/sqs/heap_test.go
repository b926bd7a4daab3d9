package sqs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type heapItem struct{ key, at int }

// TestHeap checks any sequence of operations against a plain list.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := heap[*heapItem]{
			less:  func(a, b *heapItem) bool { return a.key < b.key },
			place: func(i *heapItem, at int) { i.at = at },
		}
		var all []*heapItem
		pick := func() int { return rapid.IntRange(0, len(all)-1).Draw(t, "pick") }
		key := rapid.IntRange(0, 1000)
		for _, k := range rapid.SliceOfN(key, 0, 60).Draw(t, "initial") {
			all = append(all, &heapItem{key: k})
			h.push(all[len(all)-1])
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			do := "push"
			if len(all) > 0 {
				do = rapid.SampledFrom([]string{"push", "remove", "fix"}).Draw(t, "do")
			}
			switch do {
			case "push":
				item := &heapItem{key: key.Draw(t, "key")}
				all = append(all, item)
				h.push(item)
			case "remove":
				i := pick()
				item := all[i]
				all = slices.Delete(all, i, i+1)
				if h.remove(item.at) != item || item.at != -1 {
					t.Fatal("removed another item, or it does not know")
				}
			case "fix":
				item := all[pick()]
				item.key = key.Draw(t, "key")
				h.fix(item.at)
			}
			if h.len() != len(all) {
				t.Fatalf("%d items, want %d", h.len(), len(all))
			}
			for i, item := range h.items {
				if item.at != i {
					t.Fatalf("the item at %d believes to be at %d", i, item.at)
				}
			}
		}
		slices.SortFunc(all, func(a, b *heapItem) int { return a.key - b.key })
		for _, want := range all {
			if got := h.remove(0); got.key != want.key {
				t.Fatalf("the least is %d, want %d", got.key, want.key)
			}
		}
	})
}
