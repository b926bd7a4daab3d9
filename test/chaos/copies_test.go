package main

import (
	"math/rand/v2"
	"testing"
)

// Half of all work is sent twice, and none more often.
func TestCopies(t *testing.T) {
	list := makeOrders(10_000, rand.New(rand.NewPCG(1, 0)))
	copies(list, rand.New(rand.NewPCG(1, 2)))
	times, twice := map[int]int{}, 0
	for n := range list {
		if list[n].N != n {
			t.Errorf("order %d has the number %d", n, list[n].N)
		}
		work := list[n].workOf()
		if times[work]++; times[work] == 2 {
			twice++
		}
		if times[work] > 2 || list[work].Key > 0 {
			t.Errorf("order %d is a copy of %d, which is one, or was copied before", n, work)
		}
	}
	if share := float64(twice) / float64(len(times)); share < 0.45 || share > 0.55 {
		t.Errorf("%d of %d works are sent twice", twice, len(times))
	}
}
