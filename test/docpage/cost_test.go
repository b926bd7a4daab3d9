package docpage_test

import (
	"flag"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/prices"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var update = flag.Bool("update", false, "write the tables of costs into docs/choosing-settings.md")

var (
	table         = prices.USEast1()
	perRequest    = table.Requests / 1e6
	perInvocation = table.Invocations / 1e6
	perGBSecond   = table.GBSecond
)

// Sizes, as docs/deploying/cost.md says them.
const (
	messages   = 1e6
	recordTime = 0.1  // seconds
	memory     = 0.25 // GB
)

// A bill is what so many messages cost on Lambda.
type bill struct{ invocations, requests, gbSeconds float64 }

func (b bill) dollars() float64 {
	return b.invocations*perInvocation + b.requests*perRequest + b.gbSeconds*perGBSecond
}

// billOf is that of messages in full batches, of which so many run at a time.
func billOf(count, batchSize, concurrency float64) bill {
	invocations := count / batchSize
	waves := math.Ceil(batchSize / concurrency)
	return bill{invocations, 2 * count / min(batchSize, 10), invocations * waves * recordTime * memory}
}

// grouped is a number with commas.
func grouped(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func batchSizes() string {
	table := "| batch size | invocations | requests to SQS | GB-seconds | $ together |\n| --- | --- | --- | --- | --- |\n"
	for _, size := range []float64{1, 5, 10, 100, 1000} {
		b := billOf(messages, size, 10)
		table += fmt.Sprintf("| %.0f | %s | %s | %s | %.3f |\n", size, grouped(b.invocations), grouped(b.requests), grouped(b.gbSeconds), b.dollars())
	}
	return table
}

func concurrencies() string {
	table := "| `SQSBATCH_CONCURRENCY` | time of an invocation | GB-seconds | $ of these |\n| --- | --- | --- | --- |\n"
	for _, n := range []float64{1, 10, 50, 100} {
		b := billOf(messages, 100, n)
		table += fmt.Sprintf("| %.0f | %g s | %s | %.3f |\n", n, b.gbSeconds/b.invocations/memory, grouped(b.gbSeconds), b.gbSeconds*perGBSecond)
	}
	return table
}

func receiveCounts() string {
	table := "| `maxReceiveCount` | requests: receives and visibility changes | invocations | GB-seconds | $ more |\n| --- | --- | --- | --- | --- |\n"
	const failing = messages / 1000
	for _, n := range []float64{3, 5, 10, 20} {
		// The last receive is the one at which SQS moves it.
		b := bill{failing * n, failing * (2*n + 1), failing * n * recordTime * memory}
		table += fmt.Sprintf("| %.0f | %s | %s | %s | %.3f |\n", n, grouped(b.requests), grouped(b.invocations), grouped(b.gbSeconds), b.dollars())
	}
	return table
}

func heartbeats(taken, visibility float64) float64 { return math.Ceil(taken/(visibility/3)) - 1 }

func visibilities() string {
	table := "| time of a message | `SQSBATCH_VISIBILITY` 30 s | 1 min | 10 min |\n| --- | --- | --- | --- |\n"
	for _, taken := range []struct {
		name    string
		seconds float64
	}{{"10 s", 10}, {"1 min", 60}, {"10 min", 600}, {"1 h", 3600}} {
		table += "| " + taken.name
		for _, visibility := range []float64{30, 60, 600} {
			table += fmt.Sprintf(" | $%.2f", messages*heartbeats(taken.seconds, visibility)/10*perRequest)
		}
		table += " |\n"
	}
	return table
}

// docs/choosing-settings.md has the costs as they follow from the prices. After a change:
//
//	go test ./test/docpage -run TestCosts -update
func TestCosts_FollowFromThePrices(t *testing.T) {
	const page = "../../docs/choosing-settings.md"
	tables := map[string]string{
		"batch size": batchSizes(), "concurrency": concurrencies(), "maxReceiveCount": receiveCounts(), "visibility": visibilities(),
	}
	text := docpage.Read(t, page)
	found := 0
	want := regexp.MustCompile(`(?s)<!-- table: ([^>]*) -->\n.*?<!-- end of table -->\n`).ReplaceAllStringFunc(text, func(block string) string {
		begin, _, _ := strings.Cut(block, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(begin, "<!-- table: "), " -->")
		found++
		return begin + "\n" + tables[name] + "<!-- end of table -->\n"
	})
	if found != len(tables) {
		t.Errorf("%s has %d tables, want %d", page, found, len(tables))
	}
	docpage.RequireCurrent(t, page, text, want, *update)

	benchmarks := docpage.Read(t, "../../BENCHMARKS.md")
	for _, figure := range []string{"11 ms", "6,004", "94 %"} {
		if !strings.Contains(benchmarks, figure) || !strings.Contains(want, figure) {
			t.Errorf("%s and BENCHMARKS.md do not both say %s", page, figure)
		}
	}
	one, ten := billOf(messages, 1, 10), billOf(messages, 10, 10)
	for _, say := range []string{
		fmt.Sprintf("save %s invocations and %s GB-seconds, $%.2f", grouped(one.invocations-ten.invocations), grouped(one.gbSeconds-ten.gbSeconds),
			(one.invocations-ten.invocations)*perInvocation+(one.gbSeconds-ten.gbSeconds)*perGBSecond),
		fmt.Sprintf("0.2 requests a message, $%.2f", 0.2*messages*perRequest),
		fmt.Sprintf("%s requests, $%.2f a month", grouped(30*86400/20), 30*86400/20*perRequest),
		fmt.Sprintf("has %.0f heartbeats", heartbeats(600, 60)),
	} {
		if !strings.Contains(strings.Join(strings.Fields(want), " "), say) {
			t.Errorf("%s does not say %q", page, say)
		}
	}
}

// docs/deploying/cost.md has the same figures, in its own rows.
func TestCost_IsThatOfThePrices(t *testing.T) {
	const page = "../../docs/deploying/cost.md"
	text := docpage.Read(t, page)
	b, slow := billOf(messages, 10, 10), billOf(messages, 10, 1)
	const failed = 0.01 * messages
	batches := messages / 10 * (1 - math.Pow(0.99, 10)) // those with a failure
	row := func(name string, count, price float64) string {
		return fmt.Sprintf("| %s | %s | %.3f |\n", name, grouped(count), count*price)
	}
	for _, say := range []string{
		fmt.Sprintf("$%.2f a million SQS requests ($%.2f FIFO)", table.Requests, table.FIFORequests),
		fmt.Sprintf("$%.2f a million invocations", table.Invocations), fmt.Sprintf("$%.10f a GB-second", table.GBSecond),
		row("receives, ten at a time", b.requests/2, perRequest),
		row("deletes, ten at a time", b.requests/2, perRequest),
		row("invocations", b.invocations, perInvocation),
		row("GB-seconds: 100,000 × 0.1 s × 0.25 GB, ten records at a time", b.gbSeconds, perGBSecond),
		fmt.Sprintf("| **together** | | **%.3f** |\n", b.dollars()),
		row("the same one record after another: 100,000 × 1 s × 0.25 GB", slow.gbSeconds, perGBSecond),
		row("1 % fail once: visibility changes, one for each of the 9.6 % of batches with a failure", batches, perRequest),
		row("they come back, at worst each alone: receives and deletes", 2*failed, perRequest),
		row("and invocations", failed, perInvocation),
		row("and GB-seconds: 10,000 × 0.1 s × 0.25 GB", failed*recordTime*memory, perGBSecond),
		row("0.1 % fail for good: sends to the dead-letter queue, at worst one each", messages/1000, perRequest),
		fmt.Sprintf("| an idle mapping: 5 pollers, a receive each 20 s | %s | %.2f |\n", grouped(5*30*86400/20), 5*30*86400/20*perRequest),
	} {
		if !strings.Contains(text, say) {
			t.Errorf("%s does not say %q", page, say)
		}
	}
}
