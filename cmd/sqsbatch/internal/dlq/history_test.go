package dlq_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// faults are what a queue, a network and a busy account do to a run.
func faults() []sqs.Fault {
	return []sqs.Fault{
		{Kind: sqs.Latency, Latency: 30 * time.Millisecond},
		{Kind: sqs.Throttled, Probability: 0.05},
		{Kind: sqs.Failure, Probability: 0.02},
		{Kind: sqs.Refused, Probability: 0.02},
		{Kind: sqs.EntryFailure, Probability: 0.03},
		{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 0.03},
		{Kind: sqs.LostAnswer, Operation: "DeleteMessageBatch", Probability: 0.03},
		{Kind: sqs.LostAnswer, Operation: "ReceiveMessage", Probability: 0.01},
		{Kind: sqs.Failure, CarriedOut: true, Probability: 0.02},
		{Kind: sqs.EntryFailure, CarriedOut: true, Probability: 0.02},
		{Kind: sqs.DuplicateDelivery, Probability: 0.02},
		{Kind: sqs.OutOfOrder, Probability: 0.2},
	}
}

// A history is a replay under faults, killed a few times and resumed to its end: nothing is
// lost, what was not selected stays as it is, and each message that was sent twice is
// named. On a FIFO queue none is sent twice within five minutes, and order is kept.
func history(b *bench, seed uint64) {
	r := random.New(seed, 1)
	suffix, group := "", func(int) string { return "" }
	if r.OneIn(2) {
		suffix, group = ".fifo", func(i int) string { return fmt.Sprint("g", i%17) }
	}
	n := 50 + r.IntN(300)
	var selected, others []string
	ids := map[string]string{}
	for i := range n {
		body := fmt.Sprintf(`{"n":%d}`, i)
		ids[body] = b.buried("orders-dead"+suffix, group(i), body, "x", "orders"+suffix)
		// On a FIFO queue whole groups, since only the first of a group can be taken.
		if i%17 < 11 {
			selected = append(selected, body)
		} else {
			others = append(others, body)
		}
	}
	b.inject(faults()...)
	began := time.Now()
	named := map[string]bool{}
	args := []string{"replay", "orders-dead" + suffix, "--where", ".body.n % 17 < 11", "--by", "send", "--yes", "--output", "json", "--parallel", fmt.Sprint(1 + r.IntN(8))}
	for tries := 0; ; tries++ {
		after := 24 * time.Hour // its end comes before
		if tries < 3 {
			after = r.UpTo(3 * time.Second)
		}
		end := b.runKilled(after, args...)
		if strings.Contains(end.stdout, `"type":"result"`) {
			twice, _ := b.result(end)["sentTwice"].([]any)
			for _, id := range twice {
				named[id.(string)] = true
			}
			args = []string{"replay", "orders-dead" + suffix, "--resume", "--output", "json"}
		}
		if end.status == 0 || end.status == 3 && !strings.Contains(end.stderr, "--resume") {
			break
		}
		if tries == 30 {
			b.Fatalf("no end: %s", end)
		}
	}
	drops := suffix != "" && time.Since(began) < 5*time.Minute // SQS drops what is sent again
	b.server.ClearFaults()
	time.Sleep(2*time.Minute + time.Second) // what receives without an answer have hidden
	twice := b.judge(suffix, selected, others)
	for _, body := range twice {
		if drops || !named[ids[body]] {
			b.Errorf("%s was sent twice, named: %v", body, named[ids[body]])
		}
	}
}

// judge returns the bodies of messages that came twice or more.
func (b *bench) judge(suffix string, selected, others []string) (twice []string) {
	b.Helper()
	got, last := map[string]int{}, map[string]int{}
	for _, m := range b.drain("orders" + suffix) {
		if got[*m.Body]++; got[*m.Body] > 1 {
			twice = append(twice, *m.Body)
			continue
		}
		var body struct{ N int }
		_ = json.Unmarshal([]byte(*m.Body), &body)
		if g := m.Attributes["MessageGroupId"]; suffix != "" && body.N < last[g] {
			b.Errorf("%d of %s came after %d", body.N, g, last[g])
		} else {
			last[g] = body.N
		}
	}
	for _, body := range selected {
		if got[body] == 0 {
			b.Errorf("%s is lost", body)
		}
		delete(got, body)
	}
	if len(got) > 0 {
		b.Errorf("sent although not selected: %v", got)
	}
	b.expect("orders-dead"+suffix, others...)
	return twice
}

func TestReplay_LosesNothingUnderFaultsAndKills(t *testing.T) {
	random.Histories{Few: 15, Many: 100, Run: func(t *testing.T, seed uint64, _ random.Seen) {
		virtual(t, func(b *bench) { history(b, seed) })
	}}.Check(t)
}
