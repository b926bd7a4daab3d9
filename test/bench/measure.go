package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const (
	inFlight         = 10_000
	consumedMessages = 40_000
	bodyBytes        = 1000
)

// measure prints how large and how costly the core is (packages batch,
// partialfailure and handler, and what they import), compared with commit fa72870
// and what it is to become. It is a report: whatever the figures are, its status is 0.
// With -list it lists the functions that it counts.
//
// How each is counted:
//
//   - Code lines have a token of Go; blank lines and comments have none. Those of
//     the three folders and of all below them count, except tests, and the growth
//     since fa72870 of the packages of internal/ that they import, except jsonbody.
//   - A record passes a function if a program built with -cover passes it with one
//     record that succeeds, and does not pass it with none. Function literals are
//     part of the function around them. attribute, jsonbody and jsontext are left out.
//   - Exported names are the lines that go doc -short prints of a package.
//   - In flight means that 10,000 records are in their handlers. What the process has
//     more than before it polled is divided by 10,000.
//   - What a message takes is that of a process with 64 slots, a no-op handler and calls
//     that take 5 ms, the SDK's part included: the middle eight tenths of 40,000 messages.
//   - The lines of a function are those from func to the last brace.
//
// Queues are those of emulator/sqs over loopback: the emulator is in this process,
// and what is measured is in another one (consumer).
func measure(_ context.Context, args []string) (err error) {
	defer must.Return(&err)
	flags := flag.NewFlagSet("measure", flag.ExitOnError)
	list := flags.Bool("list", false, "list the functions that a record passes, and the long ones")
	_ = flags.Parse(args) // it exits at an error
	dir := must.Get(os.MkdirTemp("", "measure"))
	defer func() { _ = os.RemoveAll(dir) }()

	own, internal := corePackages()
	lines := growth(internal)
	for _, p := range own {
		lines += linesOf(p)
	}
	fmt.Print("| measure | at fa72870 | now | to reach |\n| --- | --- | --- | --- |\n")
	row("code lines of the core", "7,671", fmt.Sprintf("%d,%03d", lines/1000, lines%1000), "≤ 5,700")

	all := append(slices.Clone(own), internal...)
	covered := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == "internal/attribute" })
	binary := buildConsumer(dir, covered)
	container, lambda := passedFunctions(dir, binary, "busy"), passedFunctions(dir, binary, "lambda")
	row("functions that a record passes in a container", "113 in 37 files", fmt.Sprintf("%d in %d files", len(container), filesOf(container)), "≤ 60")
	row("functions that a record passes on Lambda", "74 in 27 files", fmt.Sprintf("%d in %d files", len(lambda), filesOf(lambda)), "≤ 50")

	names := 0
	for _, p := range []string{"batch", "handler", "partialfailure", "bulk"} {
		names += strings.Count(output("go", "doc", "-short", "./"+p), "\n")
	}
	row("exported names of batch, handler, partialfailure and bulk (and longpoll, before)", "97", fmt.Sprint(names), "≤ 60")

	binary = buildConsumer(dir, nil)
	held, busy := runConsumer(binary, "inflight", inFlight), runConsumer(binary, "busy", consumedMessages)
	row("goroutines of a record in flight in a container", "1.0", fmt.Sprintf("%.1f", held.Goroutines/inFlight), "1")
	row("goroutines started for a message in a container, the SDK's included", "3.3", fmt.Sprintf("%.1f", busy.Started/(0.8*consumedMessages)), "–")
	row("allocations for a message in a container", "111", fmt.Sprintf("%.0f", busy.Allocations/(0.8*consumedMessages)), "≤ 95")
	row("heap of a record in flight, without its body and stack", "2.5 KiB", fmt.Sprintf("%.1f KiB", (held.Heap/inFlight-bodyBytes)/1024), "≤ 1.8 KiB")

	longest, over := long(all, 70)
	row("lines of the longest function; functions over 70 lines", "61; 0", fmt.Sprintf("%d; %d", longest, len(over)), "≤ 70; 0")
	if *list {
		fmt.Printf("\nIn a container:\n%s\n\nOn Lambda:\n%s\n\nOver 70 lines:\n%s\n",
			strings.Join(container, "\n"), strings.Join(lambda, "\n"), strings.Join(over, "\n"))
	}
	return nil
}

func row(cells ...string) { fmt.Printf("| %s |\n", strings.Join(cells, " | ")) }

// own is this program, whose command consumer is measured. It writes no coverage unless it is
// covered itself.
const own = "test/bench"

// buildConsumer builds the consumer in dir; covered are the packages whose coverage it notes.
func buildConsumer(dir string, covered []string) (binary string) {
	args := []string{"build", "-o", filepath.Join(dir, "consumer.exe")}
	if len(covered) > 0 {
		args = append(args, "-cover", "-coverpkg="+ownModule+strings.Join(append(covered, own), ","+ownModule))
	}
	output("go", append(args, "./"+own)...)
	return args[2]
}

// passedFunctions lists functions ("path/file.go:line: name") that a record passes.
func passedFunctions(dir, binary, mode string) []string {
	functions := []map[string]bool{{}, {}}
	for n := range functions {
		data := must.Get(os.MkdirTemp(dir, mode))
		runConsumer(binary, mode, n, "GOCOVERDIR="+data)
		for line := range strings.Lines(output("go", "tool", "covdata", "func", "-i="+data)) {
			f := strings.Fields(strings.TrimPrefix(line, ownModule)) // path/file.go:line: name percentage
			if len(f) == 3 && f[2] != "0.0%" && f[0] != "total" && !strings.HasPrefix(f[0], own) {
				functions[n][f[0]+" "+f[1]] = true
			}
		}
	}
	maps.DeleteFunc(functions[1], func(f string, _ bool) bool { return functions[0][f] })
	return slices.Sorted(maps.Keys(functions[1]))
}

func filesOf(functions []string) int {
	files := map[string]bool{}
	for _, f := range functions {
		file, _, _ := strings.Cut(f, ":")
		files[file] = true
	}
	return len(files)
}

// runConsumer runs a consumer until n messages are deleted and a receive finds nothing
// more. It returns by how much the figures grew.
func runConsumer(binary, mode string, n int, env ...string) figures {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "consumer", mode, strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	stdin := must.Get(cmd.StdinPipe())
	var deleted atomic.Int64
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{
		History: -1,
		Observe: func(e sqs.Event) {
			if e.Kind == sqs.Deleted {
				deleted.Add(1)
			}
		},
		ObserveCall: func(c sqs.Call) {
			if c.Operation == "ReceiveMessage" && c.Messages == 0 && int(deleted.Load()) == n {
				_ = stdin.Close() // the consumer stops
			}
		},
	}))
	defer func() { _ = server.Close() }()
	name, body := "work", strings.Repeat("x", bodyBytes)
	client := server.Client()
	queue := must.Get(client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name}))
	for range n {
		must.Get(client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}))
	}
	must.Do(server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: 5 * time.Millisecond}))
	cmd.Env = append(append(os.Environ(), env...), "SQSBATCH_QUEUE_URL="+*queue.QueueUrl, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	var f []figures
	must.Do(json.Unmarshal(must.Get(cmd.Output()), &f))
	return figures{
		f[1].Goroutines - f[0].Goroutines, f[1].Started - f[0].Started, f[1].Allocations - f[0].Allocations, f[1].Heap - f[0].Heap,
	}
}

// output returns what a program writes to standard output.
func output(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return string(must.Get(cmd.Output()))
}

const ownModule = "github.com/sqsbatch/sqsbatch/"

// core are the folders whose packages are measured, with those below them.
var core = []string{"batch", "partialfailure", "handler"}

// linesBefore are the code lines at fa72870 of those packages, earlier, that
// the core imported then, or may import now. Other packages had none.
const linesBefore = 674

var earlier = strings.Fields("internal/attribute payload/internal internal/endpoint internal/ctxkey internal/plainjson internal/sleep internal/sqserror internal/wrapped")

// corePackages returns the folders of the core, and those of the packages of internal/
// that the core imports, directly or through others, except internal/jsonbody.
func corePackages() (own, internal []string) {
	for path := range strings.Lines(output("go", "list", "-deps", "./batch/...", "./partialfailure/...", "./handler/...")) {
		dir, ours := strings.CutPrefix(strings.TrimSpace(path), ownModule)
		top, _, _ := strings.Cut(dir, "/")
		switch {
		case !ours || dir == "internal/jsonbody":
		case top == "internal":
			internal = append(internal, dir)
		case slices.Contains(core, top):
			own = append(own, dir)
		}
	}
	return own, internal
}

// growth is how many lines more than at fa72870 the packages of internal/ have, at
// least 0. One that is gone counts with what it had.
func growth(internal []string) int {
	dirs := map[string]bool{}
	for _, name := range earlier {
		dirs[name] = true
	}
	for _, dir := range internal {
		dirs[dir] = true
	}
	n := -linesBefore
	for dir := range dirs {
		n += linesOf(dir)
	}
	return max(n, 0)
}

func linesOf(dir string) (n int) {
	for _, name := range files(dir) {
		n += codeLines(must.Get(os.ReadFile(name)))
	}
	return n
}

func files(dir string) []string {
	isTest := func(name string) bool { return strings.HasSuffix(name, "_test.go") }
	return slices.DeleteFunc(must.Get(filepath.Glob(filepath.Join(dir, "*.go"))), isTest)
}

// codeLines counts lines with a token of Go, or a part of one (raw strings).
func codeLines(src []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // not in the text: the scanner adds it at the line's end
		}
		for i := range strings.Count(text, "\n") + 1 {
			lines[file.Line(at)+i] = true
		}
	}
}

// long returns the length of the longest function, and lists those above most.
func long(dirs []string, most int) (longest int, list []string) {
	for _, dir := range dirs {
		for _, name := range files(dir) {
			set := token.NewFileSet()
			for _, d := range must.Get(parser.ParseFile(set, name, nil, 0)).Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					from := set.Position(f.Pos())
					n := set.Position(f.End()).Line - from.Line + 1
					if longest = max(longest, n); n > most {
						list = append(list, fmt.Sprintf("%v: %s, %d lines", from, f.Name.Name, n))
					}
				}
			}
		}
	}
	return longest, list
}
