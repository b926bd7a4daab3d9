package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// A page is one document of docs/migrating.
type page struct{ name, text string }

func readPages(root string) (pages []page) {
	for _, path := range must.Get(filepath.Glob(filepath.Join(root, "docs", "migrating", "*.md"))) {
		pages = append(pages, page{"docs/migrating/" + filepath.Base(path), string(must.Get(os.ReadFile(path)))})
	}
	return pages
}

// checkMigrating does what a reader of docs/migrating does: it copies the
// programs of the pages into an empty module and builds them, and runs the pages'
// commands, each of which must end as the comment behind it says.
func checkMigrating(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	pages := readPages(s.Root)
	buildPages(ctx, s, pages)
	tool := filepath.Join(s.Tmp, "sqsbatch.exe")
	must.Do(harness.Build(ctx, tool, "./cmd/sqsbatch"))
	commands := parsePages(pages)
	// Most of the time of one goes into building its function.
	errs := make([]error, len(commands))
	places := make(chan struct{}, max(2, runtime.NumCPU()))
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := c.run(ctx, tool, s); err != nil {
				errs[i] = fmt.Errorf("%s: %s\n%w", c.at, c.text, err)
			}
		})
	}
	wg.Wait()
	must.Do(errors.Join(errs...))
	fmt.Printf("%d commands end as the pages say\n", len(commands))
	return nil
}

var shown = regexp.MustCompile("(?s)<!-- file: \\.\\./\\.\\./examples/migrating/(\\S+) -->\n```go\n(.*?)```\n")

// buildPages builds the programs that the pages show as one who copies them: in a
// module that has nothing but them.
func buildPages(ctx context.Context, s *tools.Stage, pages []page) {
	dir := filepath.Join(s.Tmp, "moved")
	var files [][]string
	for _, p := range pages {
		files = append(files, shown.FindAllStringSubmatch(p.text, -1)...)
	}
	if len(files) == 0 {
		must.Failf("docs/migrating shows no programs")
	}
	must.Do(os.MkdirAll(dir, 0o755))
	for _, f := range files {
		must.Do(os.WriteFile(filepath.Join(dir, f[1]), []byte(f[2]), 0o644))
	}
	main := must.Get(os.ReadFile(filepath.Join(s.Root, "examples", "migrating", "main.go")))
	must.Do(os.WriteFile(filepath.Join(dir, "main.go"), main, 0o644))
	mod := fmt.Sprintf("module example.com/moved\n\ngo 1.26\n\nrequire github.com/sqsbatch/sqsbatch v0.0.0\n\nreplace github.com/sqsbatch/sqsbatch => %q\n", s.Root)
	must.Do(os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644))
	for _, args := range [][]string{{"mod", "tidy"}, {"vet", "./..."}} {
		if _, err := s.Go(ctx, dir, args...); err != nil {
			must.Failf("the programs of docs/migrating in a module of their own: %w", err)
		}
	}
	fmt.Printf("%d files of the pages build in a module of their own\n", len(files))
}

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

// parsePages finds the commands of the pages, each of which has a comment such as
// "# 3 succeeded, 1 dead-lettered".
func parsePages(pages []page) (commands []command) {
	for _, p := range pages {
		commands = append(commands, p.commands()...)
	}
	if len(commands) == 0 {
		must.Failf("docs/migrating has no commands")
	}
	return commands
}

func (p page) commands() (commands []command) {
	const tool = "go run ./cmd/sqsbatch "
	for i, text := range strings.Split(p.text, "\n") {
		rest, ok := strings.CutPrefix(text, tool)
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s, line %d", p.name, i+1)
		args, comes, ok := strings.Cut(rest, " # ")
		if !ok {
			must.Failf("%s: the command has no comment that says what it comes to", at)
		}
		c := command{at: at, text: text, args: strings.Fields(args), want: map[string]int{}}
		for part := range strings.SplitSeq(comes, ", ") {
			m := comment.FindStringSubmatch(part)
			if m == nil || ends[m[2]] == "" {
				must.Failf("%s: %q is no end of messages", at, part)
			}
			c.want[ends[m[2]]], _ = strconv.Atoi(m[1])
		}
		commands = append(commands, c)
	}
	return commands
}

// run runs the command by a tool that is built, and compares its summary.
func (c command) run(ctx context.Context, tool string, s *tools.Stage) error {
	cmd := exec.CommandContext(ctx, tool, append(slices.Clone(c.args), "--timeout", "2m", "--output", "json")...)
	cmd.Dir = s.Root
	out, err := s.Log.Run(cmd)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var summary map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary["type"] != "summary" {
		return fmt.Errorf("no summary (%v): %s", err, out)
	}
	sent := 0
	for _, field := range ends {
		got, _ := summary[field].(float64)
		if int(got) != c.want[field] {
			return fmt.Errorf("%s is %v, want %d:\n%s", field, summary[field], c.want[field], out)
		}
		sent += c.want[field]
	}
	if got, _ := summary["sent"].(float64); int(got) != sent {
		return fmt.Errorf("%v messages were sent, and %d are in the comment", summary["sent"], sent)
	}
	return nil
}
