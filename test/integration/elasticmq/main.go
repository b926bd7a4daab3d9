// Command elasticmq compares emulator/sqs with ElasticMQ: both are given the
// same generated sequences of operations by AWS's SDK, and every answer is
// compared. Differences that are known and explained are listed in accepted.go;
// any other is shortened as far as it can be, printed, and ends the run with 1.
//
// A real difference is there whenever its sequence is run. So a sequence that
// differs is run again, with nothing beside it: if it agrees then, it counts as
// "not judged: timing" and is listed with what differed. So do those that came
// too late to know what to expect, even with all delays and timeouts four times
// as long. More than 1 % of both end the run with 1. An answer of the emulator's that is broken off or in
// no protocol is never put down to timing.
//
//	go run ./test/integration/elasticmq [-seed N] [-sequences M]
//	go run ./test/integration/elasticmq -seed N -sequence I [-keep 0,3,7]
//
// It needs Java, and for the first run Maven.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/elasticmq"
)

type options struct {
	seed      uint64
	sequences int
	parallel  int
	sequence  int // only this one; -1: all
	keep      string
	stretch   int
	shrink    int
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "what the sequences are generated from")
	flag.IntVar(&o.sequences, "sequences", 600, "how many sequences to run")
	flag.IntVar(&o.parallel, "parallel", 64, "how many sequences to run at a time; fewer if the machine is too slow for the timetable even with four times the room")
	flag.IntVar(&o.sequence, "sequence", -1, "run this sequence only, and print all answers")
	flag.StringVar(&o.keep, "keep", "", "with -sequence: keep only these of its operations, such as 0,3,7")
	flag.IntVar(&o.stretch, "stretch", 1, "with -sequence: how many times as long its delays and timeouts are, for a slow machine")
	flag.IntVar(&o.shrink, "shrink", 12, "how many different differences to shorten; the others are printed as they were found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "elasticmq:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.parallel < 1 || o.sequences < 1 || o.stretch < 1 || o.stretch > 4 {
		return fmt.Errorf("-parallel is %d, -sequences %d and -stretch %d: want at least 1, and a stretch of at most 4", o.parallel, o.sequences, o.stretch)
	}
	theirs, err := elasticmq.Start(ctx)
	if err != nil {
		return err
	}
	defer theirs.Stop()
	ours, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	if err != nil {
		return err
	}
	defer ours.Close()
	// Both servers close connections that are idle, the emulator those without a
	// request after 10 s: here they are closed before, since a call on one that is
	// just being closed fails.
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * o.parallel, IdleConnTimeout: 5 * time.Second}
	defer transport.CloseIdleConnections()
	c := newCheck(newEndpoint("emulator", ours.URL(), transport), newEndpoint("ElasticMQ", theirs.URL, transport),
		acceptedDifferences, "q"+strconv.FormatInt(time.Now().UnixNano()%1e6, 36), o.parallel)
	if o.sequence >= 0 {
		err = c.single(ctx, o, os.Stdout)
	} else {
		err = c.all(ctx, o, os.Stdout)
	}
	if err != nil {
		return fmt.Errorf("%w (ElasticMQ's log: %s)", err, theirs.Log)
	}
	return os.Remove(theirs.Log)
}

// kept reads the argument of -keep.
func kept(list string) ([]int, error) {
	var out []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("-keep has %q: want numbers of operations, such as 0,3,7", text)
		}
		out = append(out, n)
	}
	return out, nil
}
