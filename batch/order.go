package batch

// order says which record may start when. A standard queue's records are all
// free; those of a FIFO queue's group form a chain in the order of the batch.
type order struct {
	n int
	// heads are the records that no other has to wait for. Nil: all of them.
	heads []int32
	// next is the record that waits for i, or none. Nil: no chains.
	next []int32
}

const none = -1

func newOrder(records []Record) order {
	o := order{n: len(records)}
	for i := range records {
		if records[i].FIFO() {
			o.chain(records)
			break
		}
	}
	return o
}

func (o *order) chain(records []Record) {
	type group struct{ queue, id string }
	last := make(map[group]int32)
	o.next = make([]int32, len(records))
	for i := range records {
		o.next[i] = none
		if records[i].FIFO() {
			g := group{records[i].QueueARN, records[i].GroupID}
			before, ok := last[g]
			last[g] = int32(i)
			if ok {
				o.next[before] = int32(i)
				continue
			}
		}
		o.heads = append(o.heads, int32(i))
	}
}

// chains counts what can run side by side.
func (o *order) chains() int {
	if o.heads == nil {
		return o.n
	}
	return len(o.heads)
}

// head returns the first record of chain k.
func (o *order) head(k int) int {
	if o.heads == nil {
		return k
	}
	return int(o.heads[k])
}

// after returns the record that waits for i, or none.
func (o *order) after(i int) int {
	if o.next == nil {
		return none
	}
	return int(o.next[i])
}
