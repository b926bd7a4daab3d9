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
