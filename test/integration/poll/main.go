// Command poll runs a program that is built with handler.Run (worker/) as a
// container would, a real process against real servers: `sqsbatch sqs` and
// ElasticMQ, standard and FIFO queues. It is stopped, stopped twice and killed
// in the middle of its work, and every message is accounted for:
//
//	go run ./test/integration/poll
//
// It prints the counts and ends with 1 when a message was lost, handled again
// without reason, out of order, or stranded by a stop. It needs a Unix system,
// Java, and for the first run Maven.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

func main() {
	server := flag.String("server", "", "run against one server only: sqsbatch or elasticmq")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	begin := time.Now()
	if err := run(ctx, *server); err != nil {
		fmt.Fprintln(os.Stderr, "poll:", err)
		os.Exit(1)
	}
	fmt.Printf("nothing was lost; %.0f s\n", time.Since(begin).Seconds())
}

func run(ctx context.Context, only string) (err error) {
	tmp, err := os.MkdirTemp("", "sqsbatch-poll-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	programs, err := build(ctx, tmp)
	if err != nil {
		return err
	}
	servers, stop, err := startServers(ctx, programs.sqsbatch, only)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	fmt.Printf("%-10s %-9s %-14s %5s %5s %8s %5s %6s %6s  %s\n",
		"server", "queue", "check", "sent", "once", "repeated", "dead", "starts", "stop", "")
	var lanes []*lane
	for _, s := range servers {
		for _, fifo := range []bool{false, true} {
			lanes = append(lanes, &lane{server: s, fifo: fifo, worker: programs.worker})
		}
	}
	var wrong []error
	var mu sync.Mutex
	var all sync.WaitGroup
	beside := func(f func() error) {
		all.Go(func() {
			err := f()
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, err)
		})
	}
	// The stop of an idle process is a matter of a second's parts, so nothing
	// that works runs beside it.
	for _, l := range lanes {
		beside(func() error { return l.check(ctx, "idle stop", idleStop) })
	}
	all.Wait()
	for _, l := range lanes {
		beside(func() error { return l.check(ctx, "outcomes", outcomes) })
		beside(func() error {
			return errors.Join(
				l.check(ctx, "busy stop", busyStop),
				l.check(ctx, "stop at limit", stopAtLimit),
				l.check(ctx, "second signal", secondSignal),
				l.check(ctx, "kill -9", kill),
			)
		})
	}
	all.Wait()
	return errors.Join(wrong...)
}

type programs struct{ sqsbatch, worker string }

// build builds what is run.
func build(ctx context.Context, dir string) (p programs, err error) {
	p = programs{filepath.Join(dir, "sqsbatch"), filepath.Join(dir, "worker")}
	return p, errors.Join(
		module.Build(ctx, p.sqsbatch, "./cmd/sqsbatch"),
		module.Build(ctx, p.worker, "./test/integration/poll/worker"),
	)
}
