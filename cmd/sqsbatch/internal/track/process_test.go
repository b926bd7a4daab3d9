package track_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// inContainers runs f with a tracker of polling processes in virtual time.
func inContainers(t *testing.T, f func(b *bench)) {
	runIn(t, track.Options{Sources: []string{"orders", "returns"}, Containers: true}, f)
}

// hold sends and receives messages, at their first attempt.
func (b *bench) hold(ids ...string) {
	for _, id := range ids {
		b.event(sqs.Sent, id, 0, 0)
		b.event(sqs.Received, id, 1, time.Minute)
	}
}

// says logs a record's outcome as process 1.
func (b *bench) says(id, rest string) {
	b.ProcessLine(1, "stdout", fmt.Sprintf(`{"level":"INFO","message":"record","logger":"sqsbatch","messageId":%q,"attempt":1,"durationMs":1,"allowedMs":2,%s}`, id, rest))
}

func (b *bench) delete(id string) { b.event(sqs.Deleted, id, 1, 0) }

// The queue's event comes first, and the line has the outcome.
func TestProcessOutcomes(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("good", "bad", "poor", "dull")
		b.event(sqs.Visibility, "good", 1, time.Minute) // a heartbeat
		b.delete("good")
		b.says("good", `"outcome":"succeeded"`)
		b.event(sqs.Visibility, "bad", 1, 7*time.Second)
		b.says("bad", `"outcome":"retry","visibleInMs":7000,"reason":"no luck"`)
		b.delete("poor")
		b.says("poor", `"outcome":"dead-letter","deadLetterQueue":"http://x/0/dead","reason":"hopeless"`)
		b.delete("dull")
		b.says("dull", `"outcome":"dropped"`)
		want(t, "finals", b.finals(), []string{"good succeeded", "bad retry", "poor dead-letter", "dull dropped"})
		want(t, "the last one", b.last(), track.Record{
			Process: 1, MessageID: "dull", Body: body("dull"), Attempt: 1, Outcome: "dropped",
			Duration: time.Millisecond, Allowed: 2 * time.Millisecond, Age: 1, VisibleIn: -1, Final: true,
		})
		p := b.Progress()
		want(t, "progress", p, track.Progress{Sent: 4, Succeeded: 1, DeadLettered: 1, Dropped: 1, Retried: 1, Waiting: 1, Next: body("bad"), NextIn: 7 * time.Second})
	})
}

// Messages that the only process held are cut off. Messages that it deleted without a line
// have succeeded.
func TestProcessEnds(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.Process(track.Change{Process: 1, PID: 77})
		b.hold("held", "done", "released")
		b.says("other", `"outcome":"succeeded"`) // the toolkit's lines are known
		b.delete("done")
		b.event(sqs.Visibility, "released", 1, 0)
		time.Sleep(20 * time.Second)
		b.take()
		want(t, "in flight", b.Progress().InFlight, 2)
		b.Process(track.Change{Process: 1, PID: 77, Ended: "signal: killed", Again: time.Second})
		want(t, "events", b.take(), []track.Event{
			track.Process{Change: track.Change{Process: 1, PID: 77, Ended: "signal: killed", Again: time.Second}, CutOff: 1},
			track.Record{Process: 1, MessageID: "held", Body: body("held"), Attempt: 1, Outcome: track.CutOff, Reason: "its process ended (signal: killed)",
				Duration: -1, Allowed: -1, Age: 20 * time.Second, VisibleIn: 40 * time.Second, Final: true},
			track.Record{MessageID: "done", Body: body("done"), Attempt: 1, Outcome: track.Succeeded, Reason: "it was deleted, but the function logged no outcome",
				Duration: -1, Allowed: -1, Age: 20 * time.Second, VisibleIn: -1, Final: true},
		})
		p := b.Progress()
		if p.Starts != 1 || p.Crashes != 1 || p.Succeeded != 1 || p.Waiting != 2 || p.Retried != 1 {
			t.Errorf("%+v", p)
		}
	})
}

// TestOneOfTwoProcessesEnds: the other process may hold the messages, so none is cut off.
func TestOneOfTwoProcessesEnds(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.Process(track.Change{Process: 1, PID: 77})
		b.Process(track.Change{Process: 2, PID: 78})
		b.hold("held")
		b.take()
		b.Process(track.Change{Process: 2, PID: 78, Ended: "exit status 1"})
		want(t, "events", b.take(), []track.Event{track.Process{Change: track.Change{Process: 2, PID: 78, Ended: "exit status 1"}, CutOff: -1}})
		b.Process(track.Change{Process: 1, PID: 77, Ended: "exit status 0", Asked: true})
		if told := b.take(); len(told) != 2 || told[0].(track.Process).CutOff != 1 {
			t.Errorf("%+v", told)
		}
		want(t, "crashes", b.Progress().Crashes, 1)
	})
}

// A record whose deletion failed is handled again, and counted once.
func TestHandledAgain(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("m")
		b.says("m", `"outcome":"succeeded"`)
		want(t, "final before it is deleted", b.finals(), []string(nil))
		b.event(sqs.Received, "m", 2, time.Minute)
		b.delete("m")
		b.says("m", `"outcome":"succeeded"`)
		want(t, "reason", b.last().Reason, "handled again: it could not be deleted before")
		p := b.Progress()
		if p.Succeeded != 1 || p.HandledAgain != 1 || p.InFlight+p.Waiting != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// TestDeletedLater: a record is final when its deletion succeeds at the second try.
func TestDeletedLater(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("m")
		b.says("m", `"outcome":"succeeded"`)
		b.delete("m")
		want(t, "finals", b.finals(), []string{"m succeeded"})
		want(t, "repeats", b.last().Repeats, true)
	})
}

// For a function without the toolkit's lines, the queue's events give the outcomes.
func TestSilentFunction(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("m", "long")
		b.ProcessLine(1, "stderr", "something")
		b.delete("m")
		time.Sleep(time.Second)
		want(t, "finals", b.finals(), []string{"m succeeded"})
	})
}

// Records of a FIFO group are logged together, after the last one. A deleted message
// without a line is final when no other message is in flight.
func TestLateLine(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.AllSent()
		b.hold("first", "second")
		b.says("other", `"outcome":"succeeded"`)
		b.delete("first")
		time.Sleep(10 * time.Second)
		want(t, "finals", b.finals(), []string(nil))
		b.delete("second")
		b.says("first", `"outcome":"succeeded"`)
		want(t, "finals", b.finals(), []string{"first succeeded"})
		select {
		case <-b.Done():
			t.Error("done, but a line is to come")
		default:
		}
		time.Sleep(time.Second)
		want(t, "finals", b.finals(), []string{"first succeeded", "second succeeded"})
		<-b.Done()
		b.says("second", `"outcome":"succeeded"`) // too late to have an effect
		want(t, "finals", b.finals(), []string{"first succeeded", "second succeeded"})
	})
}

// TestRemovedByOthers: a deleted message that no process held, or that came back before,
// was deleted by another receiver. A purge removes the messages of one queue.
func TestRemovedByOthers(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("back")
		b.says("back", `"outcome":"retry","visibleInMs":0`)
		b.delete("back")
		b.event(sqs.Sent, "waiting", 0, 0)
		b.delete("waiting")
		b.event(sqs.Sent, "stays", 0, 0)
		b.Queue(sqs.Event{Time: time.Now(), Kind: sqs.Sent, Queue: "returns", MessageID: "purged"})
		b.Queue(sqs.Event{Time: time.Now(), Kind: sqs.Purged, Queue: "returns"})
		synctest.Wait()
		p := b.Progress()
		if p.Sent != 4 || p.Removed != 3 || p.Waiting != 1 {
			t.Errorf("%+v", p)
		}
	})
}

// TestProcessOutput: other lines than the toolkit's are the function's. The toolkit's
// warnings are warnings, its info lines are log lines, and its sums are not shown.
func TestProcessOutput(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("m")
		b.take()
		b.ProcessLine(2, "stderr", "hello")
		const own = `{"level":"INFO","message":"record","logger":"mine","about":"sqsbatch","messageId":"m","outcome":"succeeded"}`
		b.ProcessLine(2, "stdout", own)
		b.ProcessLine(2, "stdout", `{"message":"batches","logger":"sqsbatch","records":3}`)
		b.ProcessLine(2, "stdout", `{"message":"look","logger":"sqsbatch","messageId":"m","reason":"why"}`)
		want(t, "events", b.take(), []track.Event{
			track.Log{Process: 2, Stream: "stderr", Text: "hello"},
			track.Log{Process: 2, Stream: "stdout", Text: own},
			track.Warning{Text: "look: why", MessageID: "m", Body: body("m")},
		})
		b.ProcessLine(2, "stdout", `{"level":"INFO","message":"polling","logger":"sqsbatch","queues":["orders"]}`)
		b.ProcessLine(2, "stdout", `{"level":"ERROR","message":"receiving fails","logger":"sqsbatch","queue":"orders"}`)
		want(t, "events", b.take(), []track.Event{
			track.Log{Process: 2, Stream: "stdout", Text: "polling"},
			track.Warning{Text: "receiving fails", Serious: true},
		})
	})
}

// A record's age is its age at the outcome, not at the deletion.
func TestProcessAge(t *testing.T) {
	inContainers(t, func(b *bench) {
		b.hold("late")
		time.Sleep(5 * time.Second)
		b.says("late", `"outcome":"succeeded"`)
		time.Sleep(10 * time.Second)
		b.delete("late")
		if r := b.last(); !r.Final || r.Age != 5*time.Second {
			t.Errorf("%+v", r)
		}
	})
}
