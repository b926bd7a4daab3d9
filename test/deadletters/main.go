// Command deadletters shows with real processes that `sqsbatch dlq replay` loses nothing,
// and how fast it is.
//
//	go run ./test/deadletters -messages 5000 -kills 10 -both
//	go run ./test/deadletters -messages 100000 -kills 50 -fifo
//	go run ./test/deadletters -server elasticmq
//	go run ./test/deadletters -speed
//
// It fills a dead-letter queue (fill.go, plan.go), some messages as sqsbatch does it and some
// as SQS does it. Then it replays a selection of them with an edit (replay.go): it interrupts
// the first run, kills the next ones at random calls (proxy.go), and has the last one go on to
// its end. That one waits two minutes for the messages that the killed ones have hidden. At
// the end it reads both sides of the server and judges (judge.go):
//
//   - No selected message is lost. Each is at its destination, edited as asked.
//   - Each message that is not selected is still in the dead-letter queue, as it was, and
//     visible.
//   - Only a message that was in flight at a kill may be there twice, and the tool names it.
//     None is in a FIFO queue, if the last run began within five minutes.
//   - After the interrupt no message is hidden.
//
// -speed compares the tool with a bare loop of the SDK on the same server, and reads the
// peak memory of its process (speed.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// options are the flags.
type options struct {
	messages, kills, parallel int
	rounds                    int
	seed                      uint64
	fifo, both, speed         bool
	server                    string
	program                   string // sqsbatch, which is built
	dir                       string // for journals
}

const elasticMQ = "elasticmq"

func main() {
	log.SetFlags(0)
	log.SetPrefix("deadletters: ")
	var o options
	flag.IntVar(&o.messages, "messages", 5000, "how many messages are in the dead-letter queue")
	flag.IntVar(&o.kills, "kills", 10, "how often the command is killed")
	flag.IntVar(&o.parallel, "parallel", 16, "the command's --parallel")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the kills")
	flag.BoolVar(&o.fifo, "fifo", false, "FIFO queues instead of standard ones")
	flag.BoolVar(&o.both, "both", false, "standard and FIFO queues side by side")
	flag.StringVar(&o.server, "server", "sqsbatch", "the server: sqsbatch or "+elasticMQ)
	flag.BoolVar(&o.speed, "speed", false, "compare the speed with that of a bare loop, and read the memory")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each of the two is measured, with -speed")
	flag.Parse()
	if args := flag.Args(); len(args) == 4 && args[0] == bareLoop {
		check(runBare(context.Background(), args[1], args[2], args[3]))
		return
	}
	check(run(context.Background(), o))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) (err error) {
	defer must.Return(&err)
	o.dir = must.Get(os.MkdirTemp("", "deadletters"))
	defer func() { _ = os.RemoveAll(o.dir) }()
	o.program = filepath.Join(o.dir, "sqsbatch.exe")
	must.Do(harness.Build(ctx, o.program, "./cmd/sqsbatch"))
	if o.speed {
		return measure(ctx, o)
	}
	if !o.both {
		return onServer(ctx, o)
	}
	var runs sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		one := o
		one.fifo = i == 1
		runs.Go(func() { errs[i] = onServer(ctx, one) })
	}
	runs.Wait()
	return errors.Join(errs...)
}

// onServer replays on a server of its own.
func onServer(ctx context.Context, o options) (err error) {
	url, stop, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	p, err := newProxy(url)
	if err != nil {
		return err
	}
	defer p.close()
	r := &replay{scene: newScene(o, url), proxy: p}
	if err := must.Run(func() { r.fill(ctx); r.run(ctx) }); err != nil {
		return fmt.Errorf("%s queues: %w", o.kind(), err)
	}
	return nil
}

func (o *options) kind() string {
	if o.fifo {
		return "FIFO"
	}
	return "standard"
}

// start starts the server as a process of its own.
func start(ctx context.Context, o options) (url string, stop func() error, err error) {
	defer must.Return(&err)
	switch o.server {
	case elasticMQ:
		s := must.Get(harness.StartElasticMQ(ctx))
		return s.URL, s.Stop, nil
	case "sqsbatch":
		s := must.Get(harness.StartSQS(ctx, o.program))
		return s.URL, s.Stop, nil
	}
	return "", nil, fmt.Errorf("-server is %q; it must be sqsbatch or %s", o.server, elasticMQ)
}
