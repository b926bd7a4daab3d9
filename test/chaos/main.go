// Command chaos lets the long poll meet everything at once: real processes,
// started, stopped and killed, on a network that delays, hangs, cuts and refuses
// (toxiproxy), before a server that restarts and gives wrong answers. Then it
// reads the server's history and the workers' diaries, and asks of every message
// whether it was lost, and of every one that was handled again, why.
//
//	go run .          100,000 messages, 50 faults
//	go run . -short   10,000 messages, 12 faults, for CI
//	go run . -guarded half of the work is sent twice, to a guarded function
//	go run . -sender  package sender sends, over a network that fails as well
//	go run . replay   `sqsbatch dlq replay` is killed: see replay
//	go run . soak     two hours of one worker: does what it uses grow? See soak.go
//
// With -guarded the workers use package idempotency, with a store that they share and that
// is reached by the same network. Then it asks of all work, rather than of each message,
// whether it was lost, or done again after its completion or without a reason.
//
// With -sender the messages are sent by package sender, in this process, through a proxy of
// its own. It meets the faults of the network and of the server that the workers meet. Then
// it is also asked whether the sender's results are true: each message was confirmed once and
// taken by the queue, more than once only on the standard queue and not more often than tries
// explain, and groups in order.
//
// Before all that, single situations are tried that no phase has (see checks).
//
// It ends with 1 when a promise was broken, and says what happened to the
// messages concerned; what the workers wrote is then left in a folder. Everything
// that decides is an order of events, or is found in the history: a slow machine
// makes the run longer, and fails nothing.
//
// It is a module of its own, so that sqsbatch does not depend on toxiproxy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

type options struct {
	messages, faultsWanted, stopsWanted int
	seed                                uint64
	guarded, sender                     bool
}

func main() {
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "worker":
		runWorker()
	case len(args) > 0 && args[0] == "replay":
		if err := replayMain(args[1:]); err != nil {
			fatal(err)
		}
	case len(args) > 0 && args[0] == "soak":
		soakMain(args[1:])
	default:
		chaosMain()
	}
}

func chaosMain() {
	o := options{}
	short := flag.Bool("short", false, "10,000 messages, 12 faults")
	flag.IntVar(&o.messages, "messages", 100_000, "how many to send, at least 1,000")
	flag.IntVar(&o.faultsWanted, "faults", 50, "how many faults the last phase has")
	flag.Uint64Var(&o.seed, "seed", 1, "decides what is sent and which faults come in which order")
	flag.BoolVar(&o.guarded, "guarded", false, "guard the function by package idempotency, and send half of the work twice")
	flag.BoolVar(&o.sender, "sender", false, "send by package sender, over a network that fails as well")
	flag.Parse()
	if *short {
		o.messages, o.faultsWanted = 10_000, 12
	}
	o.stopsWanted = 10
	if o.messages < 20_000 {
		o.stopsWanted = 6
	}
	if flag.NArg() > 0 || o.messages < 1000 || o.faultsWanted < 0 || o.guarded && o.sender {
		flag.Usage()
		os.Exit(2)
	}
	if runtime.GOOS == "windows" {
		fatal(errors.New("this needs a system with SIGTERM"))
	}
	folder, err := os.MkdirTemp("", "sqsbatch-chaos-")
	if err != nil {
		fatal(err)
	}
	broken, err := chaos(o, folder)
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v; the workers' diaries and logs are in %s\n", err, folder)
		os.Exit(2)
	}
	if broken {
		fmt.Printf("\nthe workers' diaries and logs are in %s\n", folder)
		os.Exit(1)
	}
	if err := os.RemoveAll(folder); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
	os.Exit(2)
}

// chaos is the whole run. It reports whether a promise was broken.
func chaos(o options, folder string) (broken bool, err error) {
	defer must.Return(&err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	binary := must.Get(os.Executable()) // also the worker
	r := &run{options: o, orders: makeOrders(o.messages, rand.New(rand.NewPCG(o.seed, 0))), ledger: newLedger(o.messages)}
	if o.guarded {
		copies(r.orders, rand.New(rand.NewPCG(o.seed, 2)))
	}
	r.server = must.Get(newServer(sqs.Config{Observe: r.ledger.observe, Seed: o.seed, History: max(10_000, o.messages)}, r.ledger))
	defer r.server.close()
	r.fleet = &fleet{binary: binary, folder: folder, server: r.server, violations: &r.violations, guarded: o.guarded}
	for i := range r.fleet.networks {
		r.fleet.networks[i] = must.Get(newNetwork(i, r.server.gates[i].address))
	}
	defer r.fleet.close()
	r.server.createQueues(ctx)
	if o.sender {
		r.sending = must.Get(newSending(r))
	}
	if !o.guarded && !o.sender {
		must.Do(r.checks(ctx))
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	go r.watchHealth(watching)
	go watchStalls(r.stalled)

	err = must.Run(func() { r.play(ctx) })
	cancel()
	switch {
	case ctx.Err() != nil:
		return false, errors.New("interrupted")
	case err != nil && !errors.Is(err, errStuck):
		return false, err
	}
	r.fleet.close()
	r.ledger.close()
	if r.began[phases].IsZero() {
		r.began[phases] = time.Now()
	}
	return r.judge()
}
