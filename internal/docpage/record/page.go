package main

import (
	"fmt"
	"slices"
	"strings"
)

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
