package migrating

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A command is one of a page's, with what it must come to.
type command struct {
	at   string // the page and the line
	text string
	args []string // of sqsbatch
	want map[string]int
}

// ends are how the messages of a run end, by the words of the pages; the fields
// of the summary have other ones.
var ends = map[string]string{"succeeded": "succeeded", "dead-lettered": "deadLettered", "dropped": "dropped"}

var comment = regexp.MustCompile(`^([0-9]+) ([a-z-]+)$`)

// parse finds the commands of the pages, each of which has a comment such as
// "# 3 succeeded, 1 dead-lettered".
func parse(pages []page) ([]command, error) {
	var commands []command
	for _, p := range pages {
		found, err := p.commands()
		if err != nil {
			return nil, err
		}
		commands = append(commands, found...)
	}
	if len(commands) == 0 {
		return nil, errors.New("docs/migrating has no commands")
	}
	return commands, nil
}

func (p page) commands() ([]command, error) {
	const tool = "go run ./cmd/sqsbatch "
	var commands []command
	for i, text := range strings.Split(p.text, "\n") {
		rest, ok := strings.CutPrefix(text, tool)
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s, line %d", p.name, i+1)
		args, comes, ok := strings.Cut(rest, " # ")
		if !ok {
			return nil, fmt.Errorf("%s: the command has no comment that says what it comes to", at)
		}
		c := command{at: at, text: text, args: strings.Fields(args), want: map[string]int{}}
		for part := range strings.SplitSeq(comes, ", ") {
			m := comment.FindStringSubmatch(part)
			if m == nil || ends[m[2]] == "" {
				return nil, fmt.Errorf("%s: %q is no end of messages", at, part)
			}
			c.want[ends[m[2]]], _ = strconv.Atoi(m[1])
		}
		commands = append(commands, c)
	}
	return commands, nil
}

// run runs the command by a tool that is built, and compares its summary.
func (c command) run(ctx context.Context, tool, root string) error {
	cmd := exec.CommandContext(ctx, tool, append(slices.Clone(c.args), "--timeout", "2m", "--output", "json")...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s%s", err, stderr.Bytes(), stdout.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(stdout.Bytes()), []byte("\n"))
	var summary map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &summary); err != nil || summary["type"] != "summary" {
		return fmt.Errorf("no summary (%v): %s", err, stdout.Bytes())
	}
	sent := 0
	for _, field := range ends {
		got, _ := summary[field].(float64)
		if int(got) != c.want[field] {
			return fmt.Errorf("%s is %v, want %d:\n%s", field, summary[field], c.want[field], stdout.Bytes())
		}
		sent += c.want[field]
	}
	if got, _ := summary["sent"].(float64); int(got) != sent {
		return fmt.Errorf("%v messages were sent, and %d are in the comment", summary["sent"], sent)
	}
	return nil
}
