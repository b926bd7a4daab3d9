// Command bench measures what sqsbatch costs. Each measurement prints a table of BENCHMARKS.md:
//
//	go run ./test/bench          lists them
//	go run ./test/bench NAME     runs one; -h lists its flags
//
// It ends with 1 when a bound is missed. The comparisons with gocloud.dev are in test/gocloud.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// benchmark is a measurement. Those without about are processes that another one starts.
type benchmark struct {
	name, about string
	run         func(ctx context.Context, args []string) error
}

var benchmarks = []benchmark{
	{"measure", "size and cost of the core, compared with an earlier commit and with the goal (40 s)", measure},
	{"consumer", "", consumer},
	{"size", "the size of bootstraps: of examples/orders, and with each adapter", size},
	{"coldstart", "init, first invocation and memory compared with functions without sqsbatch (Linux)", coldstart},
	{"deadline", "whether functions answer in time while records hang (3 min)", deadline},
	{"memory", "the peak memory of a container whose messages are made to fill it (1 min, Linux)", memory},
	{"memory-process", "", memoryProcess},
	{"waiting", "the memory that a waiting message costs the emulator (2 min)", waiting},
}

func main() {
	if len(os.Args) < 2 {
		for _, b := range benchmarks {
			if b.about != "" {
				fmt.Printf("%-11s %s\n", b.name, b.about)
			}
		}
		return
	}
	at := slices.IndexFunc(benchmarks, func(b benchmark) bool { return b.name == os.Args[1] })
	if at < 0 {
		fmt.Fprintf(os.Stderr, "bench: there is no %q\n", os.Args[1])
		os.Exit(2)
	}
	// A closed output ends it too (SIGPIPE): the servers must be stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := benchmarks[at].run(ctx, os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
