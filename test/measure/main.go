// Command measure prints how large and how costly the core is (packages batch,
// partialfailure and handler, and what they import), compared with commit fa72870
// and what it is to become. It is a report: whatever the figures are, its status is 0.
//
//	go run ./test/measure               the table, in 40 s
//	go run ./test/measure -list         and the functions that it counts
//	go run ./test/measure -cognitive    and functions above 20 by gocognit, which the go command downloads
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
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	inFlight  = 10_000
	messages  = 40_000
	bodyBytes = 1000
	gocognit  = "github.com/uudashr/gocognit/cmd/gocognit@v1.3.0"
)

func main() {
	list := flag.Bool("list", false, "list the functions that a record passes, and the long ones")
	cognitive := flag.Bool("cognitive", false, "list functions above 20 by gocognit, which takes the network")
	flag.Parse()
	dir := must(os.MkdirTemp("", "measure"))
	defer func() { _ = os.RemoveAll(dir) }()

	own, internal := packages()
	lines := growth(internal)
	for _, p := range own {
		lines += linesOf(p)
	}
	fmt.Print("| measure | at fa72870 | now | to reach |\n| --- | --- | --- | --- |\n")
	row("code lines of the core", "7,671", fmt.Sprintf("%d,%03d", lines/1000, lines%1000), "≤ 5,700")

	all := append(slices.Clone(own), internal...)
	covered := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == "internal/attribute" })
	binary := build(dir, covered)
	container, lambda := passed(dir, binary, "busy"), passed(dir, binary, "lambda")
	row("functions that a record passes in a container", "113 in 37 files", fmt.Sprintf("%d in %d files", len(container), filesOf(container)), "≤ 60")
	row("functions that a record passes on Lambda", "74 in 27 files", fmt.Sprintf("%d in %d files", len(lambda), filesOf(lambda)), "≤ 50")

	names := 0
	for _, p := range []string{"batch", "handler", "partialfailure", "bulk"} {
		names += strings.Count(run("go", "doc", "-short", "./"+p), "\n")
	}
	row("exported names of batch, handler, partialfailure and bulk (and longpoll, before)", "97", fmt.Sprint(names), "≤ 60")

	binary = build(dir, nil)
	held, busy := consume(binary, "inflight", inFlight), consume(binary, "busy", messages)
	row("goroutines of a record in flight in a container", "1.0", fmt.Sprintf("%.1f", held.Goroutines/inFlight), "1")
	row("goroutines started for a message in a container, the SDK's included", "3.3", fmt.Sprintf("%.1f", busy.Started/(0.8*messages)), "–")
	row("allocations for a message in a container", "111", fmt.Sprintf("%.0f", busy.Allocations/(0.8*messages)), "≤ 95")
	row("heap of a record in flight, without its body and stack", "2.5 KiB", fmt.Sprintf("%.1f KiB", (held.Heap/inFlight-bodyBytes)/1024), "≤ 1.8 KiB")

	longest, over := long(all, 70)
	row("lines of the longest function; functions over 70 lines", "61; 0", fmt.Sprintf("%d; %d", longest, len(over)), "≤ 70; 0")
	if *cognitive {
		fmt.Println("\nFunctions above 20 by gocognit (1 at fa72870, 0 to reach):")
		cmd := exec.Command("go", slices.Concat([]string{"run", gocognit, "-over", "20", "-ignore", "_test.go"}, core, internal)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); !errors.As(err, new(*exec.ExitError)) { // it fails when there is one
			must(0, err)
		}
	}
	if *list {
		fmt.Printf("\nIn a container:\n%s\n\nOn Lambda:\n%s\n\nOver 70 lines:\n%s\n",
			strings.Join(container, "\n"), strings.Join(lambda, "\n"), strings.Join(over, "\n"))
	}
}

func row(cells ...string) { fmt.Printf("| %s |\n", strings.Join(cells, " | ")) }

// must ends the program when something could not be measured.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
