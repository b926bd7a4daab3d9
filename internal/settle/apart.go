package settle

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/draw"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// A record that kills its process takes an attempt from every record that was received
// together with it. They all come back at the same moment, are received together again, and
// reach the dead-letter queue together. So records that come back for the second time get
// different visibility timeouts before their handlers start: after a crash each comes back
// by itself.
const (
	apartFrom    = 3               // the attempt from which that is done, or the last but one if that is earlier
	apartWithin  = 5 * time.Minute // the most that a visibility timeout becomes longer
	apartTimeout = time.Second     // handlers wait no longer for it
)

// suspect reports whether a record may have been delivered before to a process that was
// killed, and will be delivered again if this one is.
func (p *Policy) suspect(r *batch.Record) bool {
	most, _ := p.maxReceiveCount(r.QueueARN)
	from := apartFrom
	if most > 0 {
		from = max(2, min(from, most-1))
	}
	return r.Attempt >= from && r.Attempt != most
}

// Apart gives the suspects among records, which were received together, different visibility
// timeouts, see [Policy.ApartBy]. It makes one call for ten records, and none if fewer than two
// would come back. It returns the timeouts that it asked for, counted from now, by receipt
// handle. After an error SQS may have set them or not.
func (p *Policy) Apart(ctx context.Context, records []batch.Record, visibility time.Duration, called func(batch.Call)) (timeouts map[string]time.Duration, err error) {
	list, durations := p.ApartBy(records, visibility, draw.Rand.Float64)
	if len(list) == 0 {
		return nil, nil
	}
	timeouts = make(map[string]time.Duration, len(records))
	for k, r := range list {
		timeouts[r.ReceiptHandle] = durations[k]
	}
	wait := apartTimeout
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/4)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for k, callErr := range p.SetVisibility(ctx, records[0].QueueARN, list, durations, called) {
		if _, refused := errors.AsType[*sqserror.EntryError](callErr); refused {
			delete(timeouts, list[k].ReceiptHandle)
		} else {
			err = cmp.Or(err, callErr)
		}
	}
	return timeouts, err
}

// ApartBy returns the suspects among records and the visibility timeout that each gets, longer than
// visibility. The records of a FIFO group get the same. Both are nil if fewer than two would come
// back. random draws a number from 0 to 1.
func (p *Policy) ApartBy(records []batch.Record, visibility time.Duration, random func() float64) (list []*batch.Record, timeouts []time.Duration) {
	fifo := strings.HasSuffix(records[0].QueueARN, ".fifo")
	alone := func(i int) string {
		if fifo {
			return records[i].GroupID
		}
		return strconv.Itoa(i)
	}
	places := map[string]int{} // of suspects, or of their FIFO groups
	for i := range records {
		if _, ok := places[alone(i)]; !ok && p.suspect(&records[i]) {
			places[alone(i)] = len(places)
		}
	}
	if len(places) < 2 || visibility == 0 {
		return nil, nil
	}
	first, within := random(), min(2*visibility, apartWithin)
	for i := range records {
		if place, ok := places[alone(i)]; ok {
			longer := time.Duration((float64(place) + first) / float64(len(places)) * float64(within))
			list = append(list, &records[i])
			timeouts = append(timeouts, min(visibility+longer, MaxVisibility-time.Minute).Truncate(time.Second))
		}
	}
	return list, timeouts
}
