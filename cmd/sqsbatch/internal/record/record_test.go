package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// output are the chunks of a text, one for each "|", half a second apart.
func output(text string) (list []chunk) {
	start := time.Unix(0, 0)
	for i, part := range strings.Split(text, "|") {
		list = append(list, chunk{start.Add(time.Duration(i) * 500 * time.Millisecond), part})
	}
	return list
}

func TestLines_AreWhatATerminalShowsAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"lines", "a\r\n\r\nb\r\n", []string{"a", "", "b"}},
		{"a status that is erased", "\r\x1b[2m1 sent\x1b[0m\x1b[K|\r\x1b[Kdone\r\n|\r2 sent\x1b[K|\r\x1b[K", []string{"done"}},
		{"a status that is shorter than the one before", "\r10 sent\x1b[K|\r9\x1b[K", []string{"9"}},
		{"a character and a sequence that chunks cut in two", "1 \xc2|\xb7 2 \x1b[3|1mred\x1b[0m", []string{"1 · 2 red"}},
	} {
		if got := plain(lines(output(c.text))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

const run1 = "\x1b[2mfunction     \x1b[0mF: timeout 10s\r\n\r\n#1   1 record, cold start\r\n" +
	"#1   \x1b[32msucceeded   \x1b[0mtry 1    0.4ms of 9s  id=o-1 sku=ok quantity=1\r\n" +
	"#1   \x1b[33mretry       \x1b[0mtry 1   <0.1ms of 9s  id=o-6 sku=busy:1s quantity=1  \x1b[2mback in 5s: order o-6: warehouse is busy\x1b[0m\r\n" +
	"#1   took 1.4ms of 10s: 1 deleted, 1 to come back\r\n|" +
	"sqs  \x1b[31mdead-letter \x1b[0mtry 5                 id=o-6 sku=busy:1s quantity=1  \x1b[2mto local-orders-dead: order o-6: w\x1b[0m\r\n\r\n" +
	"\x1b[1m2 messages sent: \x1b[0m1 succeeded, 1 dead-lettered\x1b[2m  (6 invocations, 5.1s)\x1b[0m\r\nin local-orders-dead:\r\n" +
	"  id=o-6 sku=busy:1s  order o-6: warehouse is busy & <closed>\r\n\r\n" +
	"\x1b[2m                         n     min     p50\x1b[0m\r\nduration                15  <0.1ms  <0.1ms\r\ncalls             16 requests ·\r\n                  A 1\r\n"

func TestDraw_KeepsTheText(t *testing.T) {
	shown := append([]line{prompt(local)}, lines(output(run1))...)
	got, err := textOf(draw(shown))
	if err != nil || !slices.Equal(got, plain(shown)) {
		t.Errorf("drawn, and read again: %v\n%q\nwant\n%q", err, got, plain(shown))
	}
}

// Times, the widths that follow from them, and the numbers of invocations may differ.
func TestDifferences_AreThoseOfFacts(t *testing.T) {
	before := facts(plain(lines(output(run1))))
	for _, c := range []struct {
		old, new string
		differs  bool
	}{
		{"0.4ms", "12ms", false},
		{"0.4ms of 9s  ", "0.4ms of 9s ", false},
		{"back in 5s", "back in <0.1ms", false},
		{"#1   \x1b[33m", "#7   \x1b[33m", false},
		{"(6 invocations, 5.1s)", "(5 invocations, 6s)", false},
		{"#1   took 1.4ms of 10s: 1", "#3   took 2ms of 10s: 0", false},
		{"#1   took", "#2   2 records\r\n#1   took", false},
		{"#1   took", "#2   1 record, cold start\r\n#1   took", false},
		{"function", "go: downloading a v1.2.0\r\nfunction", false},
		{"quantity=1  \x1b[2mto local", "quantity=1\r\n     \x1b[2mto local", false},
		{"  order o-6: warehouse is busy &", "\r\n     order o-6: warehouse\r\n     is busy &", false},
		{"16 requests ·\r\n                  A 1", "17 requests · A 1 ·\r\n                  B 1", false},
		{"function", "functions", true},
		{"F: timeout", "G: timeout", true},
		{"warehouse is busy\x1b", "no stock\x1b", true},
		{"succeeded   ", "skipped     ", true},
		{"try 5", "try 4", true},
		{"is busy &", "is shut &", true},
		{"1 dead-lettered", "2 dead-lettered", true},
		{"p50", "p75", true},
		{"calls ", "costs ", true},
	} {
		now := strings.Replace(run1, c.old, c.new, 1)
		if now == run1 {
			t.Fatalf("the run has no %q", c.old)
		}
		diff := differences(before, facts(plain(lines(output(now)))))
		if (len(diff) > 0) != c.differs {
			t.Errorf("%q instead of %q: %q, want differences: %t", c.new, c.old, diff, c.differs)
		}
	}
}

func TestServingLines_HaveTheDefaultPort(t *testing.T) {
	got, err := servingLines([]string{"SQS listens on http://127.0.0.1:4711 (region r)", "", "  orders  http://127.0.0.1:4711/0/orders", "ready", "^C"})
	want := []string{"SQS listens on http://127.0.0.1:9324 (region r)", "", "  orders  http://127.0.0.1:9324/0/orders", "ready"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := servingLines([]string{"address already in use"}); err == nil {
		t.Errorf("%q, want an error", got)
	}
}

func TestShow_WritesThePageAndComparesIt(t *testing.T) {
	p := place{filepath.Join(t.TempDir(), "page.md"), "sqs", []string{"sqsbatch", "sqs"}}
	begin, end := "sqsbatch sqs\n<!-- sqs: go run ./cmd/sqsbatch/internal/record -->\n```text\n", "```\n<!-- end of sqs -->\nafter\n"
	for _, c := range []struct {
		page    string
		current bool
	}{
		{"\n" + begin + "new\nlines\n" + end, true},
		{"\n" + begin + "old\nlines\n" + end, false},
		{begin + "new\nlines\n" + end, false}, // the command is not a line
		{"no place\n", false},
	} {
		if err := os.WriteFile(p.page, []byte(c.page), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.show(true, []string{"new", "lines"}, whole); (err == nil) != c.current {
			t.Errorf("%q: %v, current: %t", c.page, err, c.current)
		}
		err := p.show(false, []string{"new", "lines"}, whole)
		if got := docpage.Read(t, p.page); err == nil && !strings.HasSuffix(got, begin+"new\nlines\n"+end) || err != nil && got != c.page {
			t.Errorf("written, %q: %v", got, err)
		}
	}
}

// Whether it is what the command shows, stage readme of .ci/run checks: that takes a run.
func TestTheDrawing_IsCompleteAndSmall(t *testing.T) {
	svg := docpage.Read(t, "../../../../"+drawing)
	if len(svg) > 40<<10 {
		t.Errorf("%s has %d bytes", drawing, len(svg))
	}
	drawn, err := textOf(svg)
	if err != nil {
		t.Fatal(err)
	}
	_, summary, _, err := localEnd.in(docpage.Read(t, "../../../../"+localEnd.page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := differences(facts(summary), facts(localSummary(drawn))); len(diff) > 0 {
		t.Errorf("%s and %s are of different runs:\n%s", drawing, localEnd.page, strings.Join(diff, "\n"))
	}
	for _, l := range drawn {
		if len([]rune(l)) > columns {
			t.Errorf("%s is wider than the terminal: %s", drawing, l)
		}
	}
	if !slices.ContainsFunc(drawn, sum.MatchString) || !slices.ContainsFunc(drawn, titles.MatchString) {
		t.Errorf("%s has no sum or table:\n%s", drawing, strings.Join(drawn, "\n"))
	}
}
