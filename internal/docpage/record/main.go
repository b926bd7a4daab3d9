// Command record runs `go run ./cmd/sqsbatch local --once` in a terminal and writes what that
// shows into docs/local.svg and docs/observability/local.md, from the repository's root:
//
//	go run ./internal/docpage/record          # after a change of what the command shows
//	go run ./internal/docpage/record -check   # fails when the two no longer show what it does
//
// The check compares what is the same in each run (facts.go), not times. It needs Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

const (
	columns, rows = 112, 30
	drawing       = "docs/local.svg"
	page          = "docs/observability/local.md"
)

var command = []string{"go", "run", "./cmd/sqsbatch", "local", "--once"}

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
	output, err := run(ctx, command)
	if err != nil {
		return err
	}
	shown := append([]line{prompt(command)}, lines(output)...)
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if check {
		return compare(shown, string(text))
	}
	want, err := withSummary(string(text), plain(shown))
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		return err
	}
	return os.WriteFile(drawing, []byte(draw(shown)), 0o644)
}

// compare holds the drawing and the page against a run.
func compare(shown []line, page string) error {
	now, err := factsOf(plain(shown))
	if err != nil {
		return fmt.Errorf("the command shows something else now: %w", err)
	}
	svg, err := os.ReadFile(drawing)
	if err != nil {
		return err
	}
	drawn, err := textOf(string(svg))
	if err != nil {
		return err
	}
	before, err := factsOf(drawn)
	if err != nil {
		return fmt.Errorf("%s: %w", drawing, err)
	}
	summary, err := summaryOf(page)
	if err != nil {
		return err
	}
	written, err := tableOf(summary)
	if err != nil {
		return err
	}
	if diff := append(before.differences(now), written.differences(facts{Sum: now.Sum, Table: now.Table})...); len(diff) > 0 {
		return fmt.Errorf("the recording of %q is out of date: go run ./internal/docpage/record\n%s",
			strings.Join(command, " "), strings.Join(diff, "\n"))
	}
	return nil
}
