// Command record runs `go run ./cmd/sqsbatch local --once` in a terminal and writes what that
// shows into docs/local.svg and docs/observability/local.md, and what `sqsbatch sqs` shows into
// docs/emulators.md. From the repository's root:
//
//	go run ./internal/docpage/record          # after a change of what the commands show
//	go run ./internal/docpage/record -check   # fails when these no longer show what they do
//
// The check compares what is the same in each run (facts.go). It needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

const (
	columns, rows = 122, 30
	drawing       = "docs/local.svg"
	readyLine     = "ready" // of sqs, which then goes on until Ctrl-C
)

var (
	local = []string{"go", "run", "./cmd/sqsbatch", "local", "--once"}
	sqs   = []string{"go", "run", "./cmd/sqsbatch", "sqs", "--queue", "orders,VisibilityTimeout=60,dead-letter=dead,max-receive-count=5", "--queue", "events.fifo"}
)

func main() {
	check := flag.Bool("check", false, "compare, and write nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := record(ctx, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func record(ctx context.Context, check bool) error {
	output, err := run(ctx, local, "")
	if err != nil {
		return err
	}
	shown := append([]line{prompt(local)}, lines(output)...)
	output, err = run(ctx, append(sqs, "--addr", "127.0.0.1:0"), "\n"+readyLine)
	if err != nil {
		return err
	}
	ready, err := servingLines(plain(lines(output)))
	if err != nil {
		return err
	}
	if check {
		return errors.Join(compare(shown), compareServing(ready))
	}
	if err := rewrite(localEnd, localSummary(plain(shown))); err != nil {
		return err
	}
	if err := rewrite(serving, ready); err != nil {
		return err
	}
	return os.WriteFile(drawing, []byte(draw(shown)), 0o644)
}

func rewrite(p place, lines []string) error {
	text, err := os.ReadFile(p.page)
	if err != nil {
		return err
	}
	want, err := p.with(string(text), lines)
	if err != nil {
		return err
	}
	return os.WriteFile(p.page, []byte(want), 0o644)
}

func shownIn(p place) (text, shown string, err error) {
	page, err := os.ReadFile(p.page)
	if err != nil {
		return "", "", err
	}
	_, shown, _, err = p.in(string(page))
	return string(page), shown, err
}

// compare holds the drawing and the page of local against a run.
func compare(shown []line) error {
	svg, err := os.ReadFile(drawing)
	if err != nil {
		return err
	}
	drawn, err := textOf(string(svg))
	if err != nil {
		return err
	}
	_, summary, err := shownIn(localEnd)
	if err != nil {
		return err
	}
	now := plain(shown)
	diff := differences(facts(drawn), facts(now))
	diff = append(diff, differences(facts(strings.Split(summary, "\n")), facts(localSummary(now)))...)
	return outOfDate(local, strings.Join(diff, "\n"))
}

// compareServing holds the page of sqs against a run. All of it is the same in each run.
func compareServing(ready []string) error {
	text, shown, err := shownIn(serving)
	if err != nil {
		return err
	}
	diff := ""
	if now := strings.Join(ready, "\n") + "\n"; now != shown {
		diff = "was\n" + shown + "\nis\n" + now
	} else if command := strings.Join(sqs, " "); !strings.Contains(text, "\n"+command+"\n") {
		diff = serving.page + " does not have the command"
	}
	return outOfDate(sqs, diff)
}

func outOfDate(command []string, diff string) error {
	if diff == "" {
		return nil
	}
	return fmt.Errorf("what is recorded of %q is out of date: go run ./internal/docpage/record\n%s", strings.Join(command, " "), diff)
}

// A place is where a page shows a command's output.
type place struct{ page, name string }

var (
	localEnd = place{"docs/observability/local.md", "local"}
	serving  = place{"docs/emulators.md", "sqs"}
)

func (p place) marks() (begin, end string) {
	return "<!-- " + p.name + ": go run ./internal/docpage/record -->\n```text\n", "```\n<!-- end of " + p.name + " -->\n"
}

// in returns the output that the text of the page shows, and what is around it.
func (p place) in(text string) (before, shown, after string, err error) {
	begin, end := p.marks()
	before, rest, ok := strings.Cut(text, begin)
	shown, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", "", "", fmt.Errorf("%s has no place for the output: %s", p.page, begin)
	}
	return before, shown, after, nil
}

// with returns the text of the page with other output.
func (p place) with(text string, lines []string) (string, error) {
	before, _, after, err := p.in(text)
	begin, end := p.marks()
	return before + begin + strings.Join(lines, "\n") + "\n" + end + after, err
}

// localSummary is the end of a run of local.
func localSummary(lines []string) []string {
	return lines[max(0, slices.IndexFunc(lines, sum.MatchString)):]
}

// servingLines are what sqs says when it is ready, with the port that it has by default.
func servingLines(lines []string) ([]string, error) {
	ready := slices.Index(lines, readyLine)
	_, port, ok := strings.Cut(lines[0], "http://127.0.0.1:")
	port, _, _ = strings.Cut(port, " ")
	if ready < 0 || !ok {
		return nil, fmt.Errorf("sqs is not ready: %q", lines)
	}
	var list []string
	for _, l := range lines[:ready+1] {
		list = append(list, strings.ReplaceAll(l, "127.0.0.1:"+port, "127.0.0.1:9324"))
	}
	return list, nil
}
