package cloudwatch

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// maxQueued limits the bytes that wait to be sent, not counting the newest period.
const maxQueued = 4 << 20

// queue is the data that waits to be sent, the oldest first.
type queue struct {
	data []datum
	size int
}

// add appends data, and returns how many data it dropped to make room.
func (q *queue) add(some []datum) (dropped int) {
	for i := range some {
		q.size += some[i].size
	}
	q.data = append(q.data, some...)
	return q.bound()
}

// back puts data that was taken back at the front.
func (q *queue) back(some []datum) (dropped int) {
	for i := range some {
		q.size += some[i].size
	}
	q.data = append(some, q.data...)
	return q.bound()
}

// bound drops the oldest periods if there is too much data. It never drops the newest
// period.
func (q *queue) bound() (dropped int) {
	for q.size > maxQueued {
		n, size := 0, 0
		for n < len(q.data) && q.data[n].Timestamp.Equal(*q.data[0].Timestamp) {
			size += q.data[n].size
			n++
		}
		if n == len(q.data) {
			break
		}
		q.data, q.size, dropped = q.data[n:], q.size-size, dropped+n
	}
	return dropped
}

// take takes the data for one call.
func (q *queue) take() []datum {
	n, size := 0, 0
	for n < min(len(q.data), maxData) && (n == 0 || size+q.data[n].size <= maxBytes) {
		size += q.data[n].size
		n++
	}
	some := q.data[:n:n]
	q.data, q.size = q.data[n:], q.size-size
	if len(q.data) == 0 {
		q.data = nil // frees its memory
	}
	return some
}

func bare(some []datum) []types.MetricDatum {
	all := make([]types.MetricDatum, len(some))
	for i := range some {
		all[i] = some[i].MetricDatum
	}
	return all
}
