package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
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
	long := strings.Repeat("x", columns)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"lines", "a\r\n\r\nb\r\n", []string{"a", "", "b"}},
		{"a status that is erased", "\r\x1b[2m1 sent\x1b[0m\x1b[K|\r\x1b[Kdone\r\n|\r2 sent\x1b[K|\r\x1b[K", []string{"done"}},
		{"a status that is shorter than the one before", "\r10 sent\x1b[K|\r9\x1b[K", []string{"9"}},
		{"a character and a sequence that chunks cut in two", "1 \xc2|\xb7 2 \x1b[3|1mred\x1b[0m", []string{"1 · 2 red"}},
		{"a line that is longer than a row", long + "y\r\nz", []string{long + "y", "z"}},
	} {
		if got := plain(lines(output(c.text))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

const run1 = "\x1b[2mfunction     \x1b[0mF: timeout 10s\r\n\r\n" +
	"#1   \x1b[32msucceeded   \x1b[0mtry 1    0.4ms of 9s  id=o-1 sku=ok quantity=1\r\n" +
	"#1   \x1b[33mretry       \x1b[0mtry 1   <0.1ms of 9s  id=o-6 sku=busy:1s quan…  \x1b[2mback in 5s: order o-6: warehouse i…\x1b[0m\r\n|" +
	"sqs  \x1b[31mdead-letter \x1b[0mtry 5                 id=o-6 sku=busy:1s quan…  \x1b[2mto local-orders-dead: order o-6: w…\x1b[0m\r\n\r\n" +
	"\x1b[1m2 messages sent: \x1b[0m1 succeeded, 1 dead-lettered\x1b[2m  (6 invocations, 5.1s)\x1b[0m\r\nin local-orders-dead:\r\n" +
	"  id=o-6 sku=busy:1s  order o-6: warehouse is busy & <closed>\r\n\r\n" +
	"\x1b[2m                         n     min     p50\x1b[0m\r\nduration                15  <0.1ms  <0.1ms\r\ncalls             16 requests\r\n"

func factsIn(t *testing.T, lines []string) facts {
	t.Helper()
	f, err := factsOf(lines)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDraw_KeepsTheTextAndTheFacts(t *testing.T) {
	shown := append([]line{prompt(local)}, lines(output(run1))...)
	got, err := textOf(draw(shown))
	if err != nil || !slices.Equal(got, plain(shown)) {
		t.Errorf("drawn, and read again: %v\n%q\nwant\n%q", err, got, plain(shown))
	}
	want := facts{
		Command:  "$ go run ./cmd/sqsbatch local --once",
		Header:   []string{"function"},
		Attempts: []string{"id=o-1 try 1 succeeded: ", "id=o-6 try 1 retry: back in 0s: order o-6: warehouse i…", "id=o-6 try 5 dead-letter: to local-orders-dead: order o-6: w…"},
		Dead:     []string{"id=o-6: order o-6: warehouse is busy & <closed>"},
		Sum:      "2 messages sent: 1 succeeded, 1 dead-lettered",
		Table:    []string{"n min p50", "duration", "calls"},
	}
	if diff := want.differences(factsIn(t, got)); len(diff) > 0 {
		t.Error(strings.Join(diff, "\n"))
	}
}

// Times, the widths that follow from them, and the numbers of invocations may differ.
func TestDifferences_AreThoseOfFacts(t *testing.T) {
	before := factsIn(t, plain(lines(output(run1))))
	for _, c := range []struct {
		old, new string
		fields   []string
	}{
		{"0.4ms", "12ms", nil},
		{"back in 5s: order o-6: warehouse i…", "back in 12s: order o-6: warehous…", nil},
		{"#1   \x1b[33m", "#7   \x1b[33m", nil},
		{"(6 invocations, 5.1s)", "(5 invocations, 6s)", nil},
		{"quan…  \x1b[2mto local", "quantity=1\r\n         \x1b[2mto local", nil},
		{"  order o-6: warehouse is busy", "\r\n     order o-6: warehouse\r\n     is busy", nil},
		{"warehouse i…", "no stock", []string{"Attempts"}},
		{"succeeded   ", "skipped     ", []string{"Attempts"}},
		{"try 5", "try 4", []string{"Attempts"}},
		{"is busy &", "is shut &", []string{"Dead"}},
		{"1 dead-lettered", "2 dead-lettered", []string{"Sum"}},
		{"p50", "p75", []string{"Table"}},
		{"calls ", "costs ", []string{"Table"}},
	} {
		now := strings.Replace(run1, c.old, c.new, 1)
		if now == run1 {
			t.Fatalf("the run has no %q", c.old)
		}
		diff := before.differences(factsIn(t, plain(lines(output(now)))))
		var fields []string
		for _, d := range diff {
			name, _, _ := strings.Cut(d, " ")
			fields = append(fields, name)
		}
		if !slices.Equal(fields, c.fields) {
			t.Errorf("%q instead of %q: differences in %v, want %v", c.new, c.old, fields, c.fields)
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

func TestPlace_KeepsTheRestOfThePage(t *testing.T) {
	begin, end := serving.marks()
	page := "before\n" + begin + "old\n" + end + "after\n"
	if got, err := serving.with(page, []string{"new", "lines"}); err != nil || got != "before\n"+begin+"new\nlines\n"+end+"after\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := serving.with("no place\n", nil); err == nil {
		t.Errorf("%q, want an error", got)
	}
}

// Whether it is what the command shows, stage readme of .ci/run checks: that takes a run.
func TestTheDrawing_IsCompleteAndSmall(t *testing.T) {
	svg, err := os.ReadFile("../../../" + drawing)
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) > 40<<10 {
		t.Errorf("%s has %d bytes", drawing, len(svg))
	}
	drawn, err := textOf(string(svg))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../" + localEnd.page)
	if err != nil {
		t.Fatal(err)
	}
	_, summary, _, err := localEnd.in(string(text))
	if err != nil {
		t.Fatal(err)
	}
	written, err := tableOf(strings.Split(summary, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := factsIn(t, drawn)
	if diff := written.differences(facts{Sum: f.Sum, Table: f.Table}); len(diff) > 0 {
		t.Errorf("%s and %s are of different runs:\n%s", drawing, localEnd.page, strings.Join(diff, "\n"))
	}
}
