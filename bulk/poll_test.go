package bulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

func TestAChunkGathersAcrossReceives(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(5 * time.Millisecond); return nil }
		sent := w.sendMany(400)
		w.poll(10 * time.Second)
		slices.Sort(sent)
		if items := w.items(); !slices.Equal(items, sent) || w.left() != 0 {
			t.Errorf("%d items, %d messages left", len(items), w.left())
		}
		if sizes := w.sizes(); slices.Max(sizes) != 100 || len(sizes) > 6 { // a receive brings 10
			t.Errorf("chunks of %v", sizes)
		}
	})
}

func TestTheFirstOfAChunkWaitsForLinger(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.cfg.Linger = 70 * time.Millisecond
		w.sendMany(3)
		w.poll(10 * time.Second)
		if sizes := w.sizes(); !slices.Equal(sizes, []int{3}) || w.times[0] != 70*time.Millisecond {
			t.Errorf("chunks of %v at %v, want 3 at 70ms", sizes, w.times)
		}
	})
}

func TestAllSlotsWait_ChunkGoesAtOnce(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.run.Concurrency = 4
		w.sendMany(8)
		w.poll(10 * time.Second)
		if sizes := w.sizes(); !slices.Equal(sizes, []int{4, 4}) || w.times[1] != 0 {
			t.Errorf("chunks of %v at %v, want 4 and 4 at once", sizes, w.times)
		}
	})
}

// A stop does not wait for what cannot come, and loses nothing that gathers.
func TestAStopWhileAChunkGathers(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.cfg.Linger = time.Minute
		w.run.RecordTimeout = 20 * time.Second // and linger at most half of it
		w.sendMany(3)
		w.poll(time.Second)
		if sizes := w.sizes(); !slices.Equal(sizes, []int{3}) || w.times[0] != time.Second || w.left() != 0 {
			t.Errorf("chunks of %v at %v, %d left", sizes, w.times, w.left())
		}
	})
	inWorld(t, false, func(w *world) { // cut before their chunks have begun
		w.cfg, w.run.Concurrency, w.run.Poll.DrainLimit = bulk.Config{MaxItems: 1, Parallel: 1}, 3, time.Second
		w.do = func(ctx context.Context, _ []bulk.Item[string]) error { <-ctx.Done(); return ctx.Err() }
		w.sendMany(3)
		w.poll(time.Second)
		waited := 0
		for _, body := range []string{"0", "1", "2"} {
			r := w.result(body)
			if r.Outcome == batch.Retry && strings.HasPrefix(fmt.Sprint(r.Err), "bulk: the record's time was over before") {
				waited++
			}
		}
		if len(w.seen()) != 1 || waited != 2 {
			t.Errorf("chunks %q, %d of 3 have waited for a place", w.seen(), waited)
		}
		if back := w.Receive(10); len(back) != 3 {
			t.Errorf("%d came back at once, want 3", len(back))
		}
	})
}

// A stop comes while the chunk of a group is being written: what was done of it is
// deleted, although no record is started any more.
func TestAStopWhileAGroupIsWritten(t *testing.T) {
	for range cases.Of(50, 300) { // the poller may look at any moment at a record whose outcome is being given
		inWorld(t, true, func(w *world) {
			w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(5 * time.Second); return nil }
			w.Send("a:0", "a:1", "a:2")
			w.poll(time.Second)
			wantChunks(t, w.seen(), []string{"a:0", "a:1", "a:2"})
			if n := w.outcomes(); n[batch.Succeeded] != 3 || w.left() != 0 {
				t.Errorf("outcomes %v, %d left", n, w.left())
			}
		})
	}
}

// A function that never returns: its records are abandoned, and others are
// written in its place.
func TestAFunctionThatHangsGivesItsPlaceAway(t *testing.T) {
	hang := func(_ context.Context, items []bulk.Item[string]) error {
		if items[0].Value == "0" {
			time.Sleep(time.Hour)
		}
		return nil
	}
	inWorldOf(t, "container", false, func(t *testing.T, w *world) {
		w.cfg, w.do = bulk.Config{MaxItems: 1, Parallel: 1}, hang
		w.run.RecordTimeout, w.run.Concurrency = 5*time.Second, 3
		w.run.Poll.MaxAbandoned = 10
		w.Send("0")
		go func() {
			time.Sleep(2 * time.Second)
			w.Queue.Send("1", "2")
		}()
		w.poll(20 * time.Second)
		if !slices.Equal(w.items(), []string{"0", "1", "2"}) || w.times[1] != 6*time.Second || w.times[2] != w.times[1] { // the timeout and the grace
			t.Errorf("chunks %q at %v, want the second at 6s", w.seen(), w.times)
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Abandoned: 1, batch.Succeeded: 2})
	})
	inWorldOf(t, "Lambda", false, func(t *testing.T, w *world) {
		w.cfg, w.do = bulk.Config{MaxItems: 1, Parallel: 1}, hang
		w.run.RecordTimeout = 5 * time.Second // and one record at a time
		w.sendMany(3)
		failed := w.invoke(10, 30*time.Second)
		if !slices.Equal(failed, []string{"0"}) || !slices.Equal(w.times, []time.Duration{0, 6 * time.Second, 6 * time.Second}) {
			t.Errorf("failed %v; chunks %q at %v", failed, w.seen(), w.times)
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Abandoned: 1, batch.Succeeded: 2})
	})
	inWorldOf(t, "Lambda, to its end", false, func(t *testing.T, w *world) {
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(time.Hour); return nil }
		w.sendMany(3)
		if failed := w.invoke(10, 30*time.Second); len(failed) != 3 || time.Since(w.began) > 30*time.Second {
			t.Errorf("failed %v after %v", failed, time.Since(w.began))
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Abandoned: 3})
	})
}

// SQS takes records back while their chunk is written. It ends when no record waits any
// more: if others do, they are not cut.
func TestARecordThatIsLostEndsNoOthersChunk(t *testing.T) {
	for name, c := range map[string]struct {
		lost  []string
		ended error
		want  map[batch.Outcome]int
	}{
		"one": {[]string{"0"}, nil, map[batch.Outcome]int{batch.Succeeded: 2, batch.Abandoned: 1}},
		"all": {[]string{"0", "1", "2"}, context.Canceled, nil},
	} {
		inWorldOf(t, name, false, func(t *testing.T, w *world) {
			var ended error
			w.do = func(ctx context.Context, items []bulk.Item[string]) error {
				for _, r := range items {
					if slices.Contains(c.lost, r.Value) {
						w.delete(w.URL, r.Record.ReceiptHandle) // as another consumer would
					}
				}
				select {
				case <-ctx.Done():
					ended = ctx.Err()
				case <-time.After(time.Minute):
				}
				return ended
			}
			w.sendMany(3)
			w.poll(3 * time.Minute)
			if ended != c.ended {
				t.Errorf("the chunk ended with %v", ended)
			}
			if c.want != nil {
				w.wantOutcomes(t, c.want)
			}
		})
	}
}
