package batch

// order says which record may start when. A standard queue's records are all
// free; those of a FIFO queue's group form a chain in the order of the batch.
type order struct {
	n    int
	fifo *chains // nil: all are free
}

type chains struct {
	heads []int32 // the records that no other has to wait for
	next  []int32 // the record that waits for i, or none
}

const none = -1

func newOrder(records []Record) order {
	o := order{n: len(records)}
	for i := range records {
		if records[i].FIFO() {
			o.fifo = newChains(records)
			break
		}
	}
	return o
}

func newChains(records []Record) *chains {
	type group struct{ queue, id string }
	last := make(map[group]int32)
	c := &chains{next: make([]int32, len(records))}
	for i := range records {
		c.next[i] = none
		if records[i].FIFO() {
			g := group{records[i].QueueARN, records[i].GroupID}
			before, ok := last[g]
			last[g] = int32(i)
			if ok {
				c.next[before] = int32(i)
				continue
			}
		}
		c.heads = append(c.heads, int32(i))
	}
	return c
}

// chains counts what can run side by side.
func (o *order) chains() int {
	if o.fifo == nil {
		return o.n
	}
	return len(o.fifo.heads)
}

// head returns the first record of chain k.
func (o *order) head(k int) int {
	if o.fifo == nil {
		return k
	}
	return int(o.fifo.heads[k])
}

// after returns the record that waits for i, or none.
func (o *order) after(i int) int {
	if o.fifo == nil {
		return none
	}
	return int(o.fifo.next[i])
}
