package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// soakMain runs one worker for hours, at a fixed rate of messages, and asks whether what it uses grows.
//
//	go run . soak -hours 2
//	go run . soak -hours 0.05 -leak goroutine    a deliberate leak, which must fail
//
// The worker is never killed. It meets all other faults of the network and of the server, one after another, and the
// server's own wrong answers all the time. A sample is taken every few seconds, and judged at the end (soak_trend.go).
// In addition, each message must be deleted in the end, the worker must stop by SIGTERM, and Go's profile of leaked
// goroutines must be empty. That profile needs Go 1.27; the run says if it had none.
//
// It needs /proc of Linux.
func soakMain(args []string) {
	s := &soak{undone: map[string][]sqs.Event{}}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	hours := flags.Float64("hours", 2, "how long messages are sent")
	rate := flags.Int("rate", 100, "messages a second, at least 10")
	seed := flags.Uint64("seed", 1, "decides what is sent and which faults come in which order")
	plot := flags.String("plot", "soak.svg", "the file to write the plot to")
	leak := flags.String("leak", "", "let the worker leak one of "+strings.Join(leaks, ", ")+" for each 1,000th message")
	_ = flags.Parse(args) // it exits at an error
	s.lasts = time.Duration(*hours * float64(time.Hour)).Round(time.Second)
	s.interval = max(2*time.Second, s.lasts/1000)
	if flags.NArg() > 0 || s.lasts < time.Minute || *rate < 10 || *leak != "" && !slices.Contains(leaks, *leak) {
		flags.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx, *rate, *seed, *leak); err != nil {
		fatal(err)
	}
	fmt.Printf("%s/%s, %d CPUs, %s; %v, %d messages a second, seed %d, %d samples, one each %v\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), s.lasts, *rate, *seed, len(s.samples), s.interval)
	s.report()
	table("fault", s.faults.struck())
	if err := os.WriteFile(*plot, s.svg(), 0o644); err != nil {
		fatal(err)
	}
	fmt.Printf("\nthe plot is in %s\n", *plot)
	if len(s.violations.list) > 0 {
		fmt.Printf("\n%d promises broken:\n%s\n", len(s.violations.list), strings.Join(s.violations.list, "\n"))
		os.Exit(1)
	}
}

type soak struct {
	server     *server
	fleet      *fleet
	faults     faultLog
	violations violations
	lasts      time.Duration // how long messages are sent
	interval   time.Duration // between two samples
	samples    []sample

	mu          sync.Mutex
	undone      map[string][]sqs.Event // of messages that are not deleted, by id
	done, calls int                    // since the last sample
}

// sample is what the worker used at one moment.
type sample struct {
	Goroutines  float64
	Heap        float64 // MiB that the last garbage collection found in use
	memory      float64 // MiB, resident
	descriptors float64
	requests    float64 // a message, since the sample before
	oldest      float64 // seconds since the oldest message that is not deleted was sent
}

func (s *soak) run(ctx context.Context, rate int, seed uint64, leak string) (err error) {
	defer must.Return(&err)
	folder := must.Get(os.MkdirTemp("", "sqsbatch-soak-"))
	defer func() { _ = os.RemoveAll(folder) }()
	// History grows with the calls, so the server keeps none.
	s.server = must.Get(newServer(sqs.Config{Observe: s.observe, ObserveCall: s.called, Seed: seed, History: -1}, nil))
	defer s.server.close()
	probe := must.Get(harness.FreeAddress())
	s.fleet = &fleet{binary: must.Get(os.Executable()), folder: folder, server: s.server, violations: &s.violations,
		settings: []string{"CHAOS_PROBE=" + probe, "CHAOS_LEAK=" + leak}}
	s.fleet.networks[0] = must.Get(newNetwork(0, s.server.gates[senderSlot].address)) // not through a spy, which keeps calls
	defer s.fleet.close()
	s.server.createQueues(ctx)
	must.Do(s.server.misbehave())
	must.Do(s.fleet.start(0, shortVisibility))

	sending, stop := context.WithTimeout(ctx, s.lasts)
	defer stop()
	var parts sync.WaitGroup
	errs := make([]error, 3)
	for i, part := range []func(){
		func() {
			s.send(sending, makeOrders(int(s.lasts.Seconds()+1)*rate, rand.New(rand.NewPCG(seed, 0))), rate)
		},
		func() { s.strike(sending, rand.New(rand.NewPCG(seed, 1))) },
		func() { s.watch(sending, probe) },
	} {
		parts.Go(func() { errs[i] = must.Run(part); stop() }) // the first one that ends, ends the others
	}
	parts.Wait()
	must.Do(errors.Join(errs...))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	s.server.state.ClearFaults()
	s.end(ctx, probe)
	return nil
}

// send sends at the rate, a tenth of it every 100 ms. A slow machine does not send more at once later.
func (s *soak) send(ctx context.Context, orders []order, rate int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := rate / 10; len(orders) >= n; orders = orders[n:] {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			must.Do(s.server.send(context.WithoutCancel(ctx), orders[:n], mainQueues))
		}
	}
}

// strike begins one fault after another, all kinds in turn, except those that end the worker.
func (s *soak) strike(ctx context.Context, random *rand.Rand) {
	saboteur := newSaboteur(s.fleet, s.server, &s.faults, false)
	for {
		for _, i := range random.Perm(len(kinds)) {
			if k := kinds[i]; k != kill && k != term {
				must.Do(saboteur.run(k, 0, random))
				if !sleep.For(ctx, 2*time.Second) {
					return
				}
			}
		}
	}
}

// watch takes the samples, 1,000 at most.
func (s *soak) watch(ctx context.Context, probe string) {
	process := fmt.Sprintf("/proc/%d/", s.fleet.current[0].command.Process.Pid)
	for sleep.For(ctx, s.interval) {
		var sample sample
		must.Do(json.Unmarshal(must.Get(get(probe, "/sample")), &sample))
		var size, pages float64
		must.Get(fmt.Sscan(string(must.Get(os.ReadFile(process+"statm"))), &size, &pages))
		sample.memory = pages * float64(os.Getpagesize()) / (1 << 20)
		sample.descriptors = float64(len(must.Get(os.ReadDir(process + "fd"))))
		s.mu.Lock()
		sample.requests = float64(s.calls) / float64(max(1, s.done))
		s.calls, s.done = 0, 0
		for _, events := range s.undone {
			sample.oldest = max(sample.oldest, time.Since(events[0].Time).Seconds())
		}
		s.mu.Unlock()
		s.samples = append(s.samples, sample)
	}
}

// end waits until each message is deleted, asks for leaked goroutines, and stops the worker.
func (s *soak) end(ctx context.Context, probe string) {
	err := harness.Until(ctx, patience, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.undone) == 0 {
			return nil
		}
		story := ""
		for _, events := range s.undone {
			for _, e := range events {
				story += fmt.Sprintln("\n", e.Time.Format(time.TimeOnly), e.Queue, e.Kind, "attempt", e.ReceiveCount, e.Visibility, e.Body)
			}
			break
		}
		return fmt.Errorf("%d messages are not deleted, one of them is %s", len(s.undone), story)
	})
	if err != nil {
		s.violations.add("after the last message: %v", err)
	}
	switch profile, err := get(probe, "/debug/pprof/goroutineleak?debug=1"); {
	case err != nil:
		fmt.Printf("no profile of leaked goroutines, which needs Go 1.27: %v\n", err)
	case !strings.HasPrefix(string(profile), "goroutineleak profile: total 0\n"):
		s.violations.add("leaked goroutines:\n%s", profile)
	}
	s.fleet.stop(0, term)
}

// observe is the emulator's sqs.Config.Observe.
func (s *soak) observe(e sqs.Event) {
	if strings.HasPrefix(e.Queue, deadName) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case sqs.Deleted:
		delete(s.undone, e.MessageID)
		s.done++
	default:
		s.undone[e.MessageID] = append(s.undone[e.MessageID], e)
	}
}

// called is the emulator's sqs.Config.ObserveCall. Only the driver sends to the main queues.
func (s *soak) called(c sqs.Call) {
	if c.Operation == "SendMessageBatch" && !strings.HasPrefix(c.Queue, deadName) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

// get asks the worker's probe.
func get(probe, path string) (_ []byte, err error) {
	defer must.Return(&err)
	answer := must.Get(http.Get("http://" + probe + path))
	defer func() { _ = answer.Body.Close() }()
	body := must.Get(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK {
		must.Failf("%s", strconv.Quote(string(body)))
	}
	return body, nil
}
