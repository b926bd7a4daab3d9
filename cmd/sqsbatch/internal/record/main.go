// Command record runs `go run ./cmd/sqsbatch local --once` in a terminal and writes what that
// shows into docs/local.svg and docs/observability/local.md, and what `sqsbatch sqs` shows into
// docs/emulators.md. From the repository's root:
//
//	go run ./cmd/sqsbatch/internal/record          # after a change of what the commands show
//	go run ./cmd/sqsbatch/internal/record -check   # fails when these no longer show what they do
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
	return errors.Join(
		picture(check, shown),
		localEnd.show(check, localSummary(plain(shown)), facts),
		serving.show(check, ready, whole),
	)
}

// picture draws a run of local, or compares the drawing with it.
func picture(check bool, shown []line) error {
	if !check {
		return os.WriteFile(drawing, []byte(draw(shown)), 0o644)
	}
	svg, err := os.ReadFile(drawing)
	if err != nil {
		return err
	}
	drawn, err := textOf(string(svg))
	return errors.Join(err, outOfDate(drawing, differences(facts(drawn), facts(plain(shown)))))
}

func outOfDate(file string, diff []string) error {
	if len(diff) == 0 {
		return nil
	}
	return fmt.Errorf("%s is out of date: go run ./cmd/sqsbatch/internal/record\n%s", file, strings.Join(diff, "\n"))
}

// A place is where a page shows a command's output.
type place struct {
	page, name string
	command    []string // that the page has, too; nil for none
}

var (
	localEnd = place{"docs/observability/local.md", "local", nil}
	serving  = place{"docs/emulators.md", "sqs", sqs}
)

// show writes the lines of a run into the page, or compares what two runs have in common.
func (p place) show(check bool, lines []string, common func([]string) []string) error {
	text, err := os.ReadFile(p.page)
	if err != nil {
		return err
	}
	before, was, after, err := p.in(string(text))
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(p.page, []byte(before+strings.Join(lines, "\n")+"\n"+after), 0o644)
	}
	if command := strings.Join(p.command, " "); command != "" && !strings.Contains(string(text), "\n"+command+"\n") {
		return fmt.Errorf("%s does not have the command %s", p.page, command)
	}
	return outOfDate(p.page, differences(common(was), common(lines)))
}

// whole is for an output that is the same in each run.
func whole(lines []string) []string { return []string{strings.Join(lines, "\n")} }

// in returns the lines that the text of the page shows, and what is around them.
func (p place) in(text string) (before string, lines []string, after string, err error) {
	begin, end := "<!-- "+p.name+": go run ./cmd/sqsbatch/internal/record -->\n```text\n", "```\n<!-- end of "+p.name+" -->\n"
	before, rest, ok := strings.Cut(text, begin)
	shown, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", nil, "", fmt.Errorf("%s has no place for the output: %s", p.page, begin)
	}
	return before + begin, strings.Split(strings.TrimSuffix(shown, "\n"), "\n"), end + after, nil
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
