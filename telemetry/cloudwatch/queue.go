package cloudwatch

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// maxQueued bounds the bytes of what waits to be put, beside the newest period.
const maxQueued = 4 << 20

// queue is what waits to be put, the oldest first.
type queue struct {
	data []datum
	size int
}

// add puts data at the end, and returns how many it dropped for that.
func (q *queue) add(some []datum) (dropped int) {
	for i := range some {
		q.size += some[i].size
	}
	q.data = append(q.data, some...)
	return q.bound()
}

// back puts data that was taken back to the beginning.
func (q *queue) back(some []datum) (dropped int) {
	for i := range some {
		q.size += some[i].size
	}
	q.data = append(some, q.data...)
	return q.bound()
}

// bound drops the oldest periods of too much; the newest is kept in any case.
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

// take takes what goes into one call.
func (q *queue) take() []datum {
	n, size := 0, 0
	for n < min(len(q.data), maxData) && (n == 0 || size+q.data[n].size <= maxBytes) {
		size += q.data[n].size
		n++
	}
	some := q.data[:n:n]
	q.data, q.size = q.data[n:], q.size-size
	if len(q.data) == 0 {
		q.data = nil // its memory
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
