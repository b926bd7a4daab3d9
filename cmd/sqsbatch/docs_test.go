package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/serve"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// everyLine is one of each type, with all of its fields.
func everyLine(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	args := []string{"sqs", "--addr", "127.0.0.1:0", "--output", "json", "--ui", "--queue", "orders,dead-letter=dead"}
	if status := cli.Run(t.Context(), root(cli.IO{Args: args, Stdout: show.To(&out), Stderr: show.To(io.Discard), Interrupts: interrupts})); status != 0 {
		t.Fatal(status)
	}
	now := time.Now()
	for _, event := range []any{
		serve.Refused{Type: "refused", Call: sqs.Call{Began: now, Ended: now, Operation: "a", Queue: "a", Messages: 1, Failed: 1, Error: "a", Message: "a", Fault: sqs.Failure}},
		serve.Lost{Type: "lost", Time: now, Events: 1},
	} {
		golden.OK(t, json.NewEncoder(&out).Encode(event))
	}
	v := view.NewJSON(&out, view.NewText(io.Discard, view.Terminal{}))
	v.Event(sqs.Event{
		Kind: "message", Time: now, Queue: "a", MessageID: "a", Body: "a", ReceiveCount: 1, Visibility: time.Second,
		MessageGroupID: "a", DeduplicationID: "a", SequenceNumber: "1", DeadLetterQueue: "a", MovedTo: "a", NewMessageID: "a",
	})
	v.Event(track.Record{Process: 1, PanickedAt: "a", DeadLetterQueue: "a", Final: true})
	v.Event(track.Ended{ColdStart: true, Error: "a", AllFailed: "a"})
	v.Event(track.Process{Change: track.Change{Ended: "a", Asked: true, Again: time.Second}, CutOff: 1})
	v.Summary(view.Summary{Progress: track.Progress{HandledAgain: 1, Starts: 1, Crashes: 1}, Metrics: &track.Report{}})
	golden.OK(t, v.Err())
	return out.String()
}

// The page lists every field that is written, for the lines that have it, and no other.
func TestThePageHasTheFieldsOfEvents(t *testing.T) {
	documented := docpage.Fields(t, "../../docs/emulators.md", "event fields")
	for line := range strings.Lines(everyLine(t)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(line, err)
		}
		kind := fields["type"].(string)
		delete(fields, "type")
		for name := range fields {
			if !slices.Contains(documented[kind], name) {
				t.Errorf("%s of a line of type %s is not in the page", name, kind)
			}
		}
		for _, name := range documented[kind] {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s of a line of type %s is in the page, and not written", name, kind)
			}
		}
		delete(documented, kind)
	}
	if len(documented) > 0 {
		t.Errorf("the page has types that are not written: %v", documented)
	}
}

// The pages of docs/tools are the help of the commands: one page for a command and those
// below it.
func TestPages_AreTheHelpOfTheCommands(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "tools")
	pages := map[string]string{}
	rows := "\n| command | what it does |\n| --- | --- |\n"
	for _, cmd := range documented(root(cli.IO{})) {
		file, anchor := page(cmd), ""
		if cmd.HasParent() && cmd.Parent().HasParent() {
			anchor = "#" + strings.ReplaceAll(cmd.CommandPath(), " ", "-")
			pages[file] += "\n" + below(pages[file], pages["local.md"], markdown(cmd))
		} else {
			pages[file] = strings.TrimRight(listed.ReplaceAllString(markdown(cmd), ""), "\n") + "\n"
		}
		rows += fmt.Sprintf("| [`%s`](%s%s) | %s |\n", cmd.CommandPath(), file, anchor, cmd.Short)
	}
	docpage.RequireSection(t, filepath.Join(dir, "README.md"), "commands", rows+"\n", *golden.Update)
	for name, want := range pages {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); *golden.Update && os.IsNotExist(err) {
			golden.OK(t, os.WriteFile(path, nil, 0o644))
		}
		docpage.RequireCurrent(t, path, docpage.Read(t, path), want, *golden.Update)
	}
	files, err := os.ReadDir(dir)
	golden.OK(t, err)
	for _, f := range files {
		if pages[f.Name()] == "" && f.Name() != "README.md" {
			t.Errorf("docs/tools/%s is of no command", f.Name())
		}
	}
}

var (
	listed = regexp.MustCompile(`(?s)## Commands\n\n.*? explains a command and its flags\.\n\n?`) // they follow on the page
	titles = regexp.MustCompile(`(?m)^#`)
	flags  = regexp.MustCompile("(?m)^- `(--[a-z0-9-]+).*\n(?:  .*\n)*")
)

// below returns the help of a command as a part of the page of the command above it. A
// section that the page has already is left out, and so are the examples, which other pages
// have. Flags that this page or that of sqsbatch local has already are only named.
func below(page, local, help string) string {
	var out strings.Builder
	for i, part := range strings.SplitAfter(titles.ReplaceAllString(help, "##"), "\n\n###") {
		title, text, _ := strings.Cut(part, "\n\n")
		text = strings.TrimSuffix(text, "###")
		switch {
		case title == " Examples" || i > 0 && strings.Contains(page, "##"+title+"\n\n"+strings.TrimSpace(text)):
			continue
		case title == " Usage":
			out.WriteString("`" + strings.Trim(strings.TrimPrefix(text, "```sh"), "`\n") + "`\n\n")
			continue
		case i > 0:
			out.WriteString("###")
		}
		var above, there []string
		text = flags.ReplaceAllStringFunc(text, func(row string) string {
			name := "`" + flags.FindStringSubmatch(row)[1] + "`"
			switch {
			case strings.Contains(page, row):
				above = append(above, name)
			case strings.Contains(local, row):
				there = append(there, name)
			default:
				return row
			}
			return ""
		})
		text = strings.Trim(text, "\n") + "\n"
		if len(there) > 0 {
			text += "- " + strings.Join(there, ", ") + ": as for [`sqsbatch local`](local.md)\n"
		}
		if len(above) > 0 {
			text += "- " + strings.Join(above, ", ") + ": as above\n"
		}
		out.WriteString(title + "\n\n" + strings.TrimLeft(text, "\n") + "\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// documented are the commands with a page of their own.
func documented(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(commands(root), func(c *cobra.Command) bool {
		path := c.CommandPath()
		return c == root || path == "sqsbatch version" || strings.HasPrefix(path, "sqsbatch completion")
	})
}

// page is the name of the page with a command, as in "dlq.md" for sqsbatch dlq list.
func page(cmd *cobra.Command) string { return strings.Fields(cmd.CommandPath())[1] + ".md" }

// The manual pages name every command and every flag.
func TestMan_HasAPageForEachCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	tree := root(cli.IO{Args: []string{"man", dir}, Stdout: show.To(io.Discard), Stderr: show.To(os.Stderr)})
	if status := cli.Run(t.Context(), tree); status != 0 {
		t.Fatal(status)
	}
	for _, cmd := range commands(tree) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		text := docpage.Read(t, filepath.Join(dir, name+".1"))
		if !strings.HasPrefix(text, ".TH "+strings.ToUpper(name)+" 1 ") {
			t.Errorf("%s begins with %.40q", name, text)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flag := "\n.B " + strings.ReplaceAll("--"+f.Name, "-", `\-`)
			if f.Name != "help" && !strings.Contains(text, flag) {
				t.Errorf("%s does not explain --%s", name, f.Name)
			}
		})
	}
}

// The pages show what `sqsbatch local --once` and `sqsbatch sqs` print, but for times, ports and the
// numbers of invocations.
func TestPages_ShowWhatIsPrinted(t *testing.T) {
	t.Parallel() // it takes the seconds that the orders take to come back
	const readme, local, emulators = "../../README.md", "../../docs/observability/local.md", "../../docs/emulators.md"
	printed, err := command(t, t.TempDir(), "local", "--once").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	_, run, _ := strings.Cut(string(printed), "\n\n")
	invocation, run, _ := strings.Cut(run, "to come back\n")
	_, end, _ := strings.Cut(run, "\n\n")
	result, _, _ := strings.Cut(end, "\n\n")
	shows(t, readme, "local", result+"\n")
	shows(t, local, "run", invocation+"to come back\n…\n")
	shows(t, local, "local", end)

	line := regexp.MustCompile(`(?m)^go run \./cmd/sqsbatch (sqs .*)$`).FindStringSubmatch(docpage.Read(t, emulators))
	if line == nil {
		t.Fatalf("%s has no command", emulators)
	}
	var out bytes.Buffer
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	args := append(strings.Fields(line[1]), "--addr", "127.0.0.1:0")
	if status := cli.Run(t.Context(), root(cli.IO{Args: args, Stdout: show.To(&out), Stderr: show.To(os.Stderr), Interrupts: interrupts})); status != 0 {
		t.Fatal(status)
	}
	shows(t, emulators, "sqs", regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(out.String(), "127.0.0.1:9324"))
}

// simulations are the commands of docs/simulating.md, by the names of their sections.
var simulations = map[string]string{
	"outage":   "--rate 200/s --duration lognormal:50ms,500ms --outage 20m@30m --for 90m",
	"burst":    "--burst 1000000 --duration lognormal:50ms,500ms --for 1h --vary MaximumConcurrency=10,50,250",
	"reserved": "--burst 2000@5m --duration 8s --set MaximumConcurrency=none --set ReservedConcurrentExecutions=1",
	"find":     "--rate 100/s --duration 1s --for 20m --mode poll --find --age 1m",
	"maximum":  "--burst 2000@5m --duration 8s --set MaximumConcurrency=2 --set BatchSize=5",
}

// The page has what `sqsbatch simulate` prints, but for what is assumed, which it has once.
func TestPages_ShowSimulationsAtFullSize(t *testing.T) {
	t.Parallel()
	const page = "../../docs/simulating.md"
	for name, args := range simulations {
		cmd := command(t, t.TempDir(), append([]string{"simulate"}, strings.Fields(args)...)...)
		cmd.Stderr = os.Stderr
		printed, err := cmd.Output()
		golden.OK(t, err)
		result, assumed, ok := strings.Cut(string(printed), "\nassumed ")
		if !ok {
			t.Errorf("%s: nothing is assumed", args)
		}
		docpage.RequireSection(t, page, "simulate "+name, "```sh\nsqsbatch simulate "+args+"\n```\n\n```text\n"+result+"```\n", *golden.Update)
		if name == "outage" {
			docpage.RequireSection(t, page, "assumed", "```text\n"+strings.ReplaceAll("     "+assumed, "\n             ", "\n")+"```\n", *golden.Update)
		}
	}
}

// shows wants the facts of an output in a page.
func shows(t *testing.T, page, name, output string) {
	t.Helper()
	want := "```text\n" + output + "```\n"
	if _, text, _ := docpage.Section(t, page, name); !slices.Equal(facts(text), facts(want)) {
		docpage.RequireSection(t, page, name, want, *golden.Update)
	}
}

var (
	tableTitles = regexp.MustCompile(`^ +n +min `)
	passing     = regexp.MustCompile(`^waiting: |^#\d+ +(?:took |\d+ records?(?:, cold start)?$)`) // which messages come back together
	changing    = regexp.MustCompile(`^#\d+|<?\b\d+(?:\.\d+)?(?:ms|s|m)\b| \(\d+ invocations, .*\)`)
)

// facts are what an output shows, whatever the machine and the jitter: its lines in order of the
// alphabet, of those below the titles of a table only the name.
func facts(output string) (lines []string) {
	table := false
	for line := range strings.Lines(output) {
		table = table || tableTitles.MatchString(line)
		if table && !strings.HasPrefix(line, " ") {
			line, _, _ = strings.Cut(line, "  ")
		}
		if !passing.MatchString(strings.TrimSpace(line)) {
			lines = append(lines, strings.Join(strings.Fields(changing.ReplaceAllString(line, "~")), " "))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// pageWidth is the width of the documentation's lines.
const pageWidth = 140

// markdown returns a command's help as a page of the documentation.
func markdown(cmd *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", cmd.CommandPath())
	for _, s := range cli.Parts(cmd) {
		if s.Title != "" {
			fmt.Fprintf(&out, "## %s\n\n", s.Title)
		}
		for _, r := range s.Rows {
			fmt.Fprintf(&out, "- `%s`: %s\n", r.Name, strings.ReplaceAll(escaped(r.Text), "\n", "<br>\n  "))
		}
		if len(s.Rows) > 0 {
			out.WriteByte('\n')
		}
		for _, p := range cli.Paragraphs(s.Text) {
			if strings.HasPrefix(p, " ") {
				p = "```sh\n" + p + "\n```"
			} else {
				p = strings.Join(show.Wrap(escaped(p), pageWidth), "\n")
			}
			out.WriteString(p + "\n\n")
		}
		if s.Code != "" {
			fmt.Fprintf(&out, "```sh\n%s\n```\n\n", strings.TrimSuffix(s.Code, "\n"))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// escaped returns text with Markdown's special characters escaped.
func escaped(text string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(text)
}
