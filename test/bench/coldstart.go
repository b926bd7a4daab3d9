package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// coldPrograms are what is measured; the first is compared with the others.
var coldPrograms = []sizeProgram{
	{"orders", "./examples/orders", ""},
	{"client", "./test/bench/client", ""},
	{"hello", "./test/bench/hello", ""},
	{"silent", "log/slog", `_ = h
	handler.RunWith(batch.JSON(func(context.Context, struct{ ID, SKU string }) error { return nil }),
		handler.Config{Logger: slog.New(slog.DiscardHandler)})`},
}

// coldStartTimes is what one took, in the order of measures.
type coldStartTimes [4]float64

var measures = [4]struct{ name, unit string }{{"init", "ms"}, {"first invocation", "ms"}, {"request to answer", "ms"}, {"peak memory", "MiB"}}

// coldstart measures what a cold start costs under AWS's own Runtime
// Interface Emulator: init (from the start of the process to its first request
// for an invocation), the first invocation, both together as the caller sees
// them, and the most memory the process has had. examples/orders is run in turns
// with two functions that do without sqsbatch: hello, with aws-lambda-go alone,
// and client, which also makes a client of SQS as functions do that call it. silent
// uses sqsbatch and does what client does: it writes no line of log or metrics.
//
// With -limit it fails when the median of orders is above that many times
// the median of client, in any of the four.
func coldstart(ctx context.Context, args []string) (err error) {
	defer must.Return(&err)
	flags := flag.NewFlagSet("coldstart", flag.ExitOnError)
	rounds := flags.Int("rounds", 60, "cold starts of each program, at least 1")
	limit := flags.Float64("limit", 0, "the most that orders may be of client; 0 for no limit")
	_ = flags.Parse(args) // it exits at an error
	dir := must.Get(buildDir())
	defer func() { _ = os.RemoveAll(dir) }()
	payload := must.Get(events.FS.ReadFile("one.json"))
	cli := must.Get(tools.InstallSAM(ctx))
	runtime := must.Get(cli.RIE(ctx))
	for _, p := range coldPrograms {
		must.Do(p.build(ctx, dir, goruntime.GOARCH, filepath.Join(dir, p.name)))
	}

	results := make([][]coldStartTimes, len(coldPrograms))
	// The first round warms the page cache and does not count.
	for round := range *rounds + 1 {
		for i := range coldPrograms {
			n := (i + round) % len(coldPrograms) // each comes after each other as often
			one, err := coldStart(ctx, runtime, filepath.Join(dir, coldPrograms[n].name), payload)
			if err != nil {
				return fmt.Errorf("%s: %w", coldPrograms[n].name, err)
			}
			if round > 0 {
				results[n] = append(results[n], one)
			}
		}
	}
	return reportColdStarts(results, *limit)
}

// reportColdStarts prints medians, quartiles, and by how much orders exceeds the others.
func reportColdStarts(results [][]coldStartTimes, limit float64) error {
	fmt.Printf("%d cold starts each; medians, with quartiles\n\n| |", len(results[0]))
	for _, p := range coldPrograms {
		fmt.Printf(" %s |", p.name)
	}
	for _, p := range coldPrograms[1:] {
		fmt.Printf(" %s ÷ %s |", coldPrograms[0].name, p.name)
	}
	fmt.Printf("\n|%s\n", strings.Repeat(" --- |", 2*len(coldPrograms)))
	var over []string
	for i, m := range measures {
		medians := make([]float64, len(coldPrograms))
		fmt.Printf("| %s |", m.name)
		for n := range coldPrograms {
			var values []float64
			for _, s := range results[n] {
				values = append(values, s[i])
			}
			slices.Sort(values)
			at := func(part float64) float64 { return values[int(part*float64(len(values)-1)+0.5)] }
			medians[n] = at(0.5)
			fmt.Printf(" %.2f %s (%.2f to %.2f) |", medians[n], m.unit, at(0.25), at(0.75))
		}
		for n := range coldPrograms[1:] {
			fmt.Printf(" %.2f × |", medians[0]/medians[n+1])
		}
		fmt.Println()
		if limit > 0 && medians[0] > limit*medians[1] {
			over = append(over, m.name)
		}
	}
	if over != nil {
		return fmt.Errorf("%s of orders is above %.2f × that of client", strings.Join(over, ", "), limit)
	}
	return nil
}

// coldStart starts the emulator with the program, invokes it once and ends it.
// The program itself is started by the emulator when the first request comes.
func coldStart(ctx context.Context, runtime, program string, payload []byte) (s coldStartTimes, err error) {
	// As on Lambda, and no variables of this machine: what the SDK finds there
	// would be read, and without TZ the first line of a log reads a file.
	e, err := tools.StartRIE(ctx, runtime, program, []string{
		"PATH=" + os.Getenv("PATH"), "AWS_REGION=us-east-1", "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_FUNCTION_TIMEOUT=10",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "TZ=:UTC",
	})
	if err != nil {
		return s, err
	}
	err = must.Run(func() {
		whole, memory := invokeCold(ctx, e, program, payload)
		s = coldStartTimes{onlyNumber(e.Log(), initReport), onlyNumber(e.Log(), invokeDone), float64(whole) / float64(time.Millisecond), memory / 1024}
	})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, e.Log())
	}
	return s, err
}

// invokeCold returns the time until the answer, and the most memory in KiB.
func invokeCold(ctx context.Context, e *tools.RIE, program string, payload []byte) (whole time.Duration, memory float64) {
	defer e.Stop()
	answer, whole := must.Get2(e.Invoke(ctx, payload))
	if string(answer) != `{"batchItemFailures":[]}` {
		must.Failf("answer is %q", answer)
	}
	return whole, peakMemory(e.PID, program)
}

// peakMemory is VmHWM of the emulator's child that runs the program, in KiB.
func peakMemory(emulator int, program string) float64 {
	for _, task := range must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", emulator))) {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has just ended
		}
		for _, child := range strings.Fields(string(children)) {
			if exe, err := os.Readlink("/proc/" + child + "/exe"); err == nil && filepath.Base(exe) == filepath.Base(program) {
				return onlyNumber(string(must.Get(os.ReadFile("/proc/"+child+"/status"))), peakLine)
			}
		}
	}
	must.Failf("the emulator has no child that runs %s", program)
	return 0
}

var (
	peakLine   = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)
	initReport = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)
	invokeDone = regexp.MustCompile(`INVOKE RTDONE\(status: success, .*duration: ([0-9.]+)ms\)`)
)

// onlyNumber is that of the only line of a text that matches.
func onlyNumber(text string, line *regexp.Regexp) float64 {
	m := line.FindAllStringSubmatch(text, -1)
	if len(m) != 1 {
		must.Failf("there are %d lines like %s, want 1", len(m), line)
	}
	return must.Get(strconv.ParseFloat(m[0][1], 64))
}
