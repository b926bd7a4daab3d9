//go:build linux

// Package coldstart measures what a cold start costs under AWS's own Runtime
// Interface Emulator: init (from the start of the process to its first request
// for an invocation), the first invocation, both together as the caller sees
// them, and the most memory the process has had. examples/orders is run in turns
// with two functions that do without sqsbatch: hello, with aws-lambda-go alone,
// and client, which also makes a client of SQS as functions do that call it.
//
//	go run ./test/integration coldstart -rounds 60
//
// With -limit it fails when the median of orders is above that many times
// the median of client, in any of the four.
package coldstart

import (
	"context"
	"errors"
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
	"github.com/sqsbatch/sqsbatch/test/integration/internal/emulator"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// programs are what is measured; the first is compared with the others.
var programs = []struct{ name, pkg string }{
	{"orders", "./examples/orders"},
	{"client", "./test/integration/coldstart/client"},
	{"hello", "./test/integration/coldstart/hello"},
}

type start struct {
	init, invoke, whole time.Duration
	memory              float64 // KiB
}

var measures = []struct {
	name, unit string
	of         func(start) float64
}{
	{"init", "ms", func(s start) float64 { return milliseconds(s.init) }},
	{"first invocation", "ms", func(s start) float64 { return milliseconds(s.invoke) }},
	{"request to answer", "ms", func(s start) float64 { return milliseconds(s.whole) }},
	{"peak memory", "MiB", func(s start) float64 { return s.memory / 1024 }},
}

var (
	rounds int
	limit  float64
)

// Flags adds the check's own.
func Flags(f *flag.FlagSet) {
	f.IntVar(&rounds, "rounds", 60, "cold starts of each program")
	f.Float64Var(&limit, "limit", 0, "the most that orders may be of client; 0 for no limit")
}

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	if rounds < 1 {
		return fmt.Errorf("-rounds is %d, must be at least 1", rounds)
	}
	payload := must.Get(events.FS.ReadFile("one.json"))
	cli := must.Get(samcli.Install(ctx))
	runtime := must.Get(cli.RIE(ctx))
	for _, p := range programs {
		must.Do(module.BuildFunction(ctx, filepath.Join(s.Tmp, p.name), p.pkg, goruntime.GOARCH))
	}

	results := make([][]start, len(programs))
	// The first round warms the page cache and does not count.
	for round := range rounds + 1 {
		for i := range programs {
			n := (i + round) % len(programs) // each comes after each other as often
			one, err := coldStart(ctx, runtime, filepath.Join(s.Tmp, programs[n].name), payload)
			if err != nil {
				return fmt.Errorf("%s: %w", programs[n].name, err)
			}
			if round > 0 {
				results[n] = append(results[n], one)
			}
		}
	}
	return report(results)
}

// report prints medians, quartiles, and by how much orders exceeds the others.
func report(results [][]start) error {
	fmt.Printf("%d cold starts each; medians, with quartiles\n\n| |", len(results[0]))
	for _, p := range programs {
		fmt.Printf(" %s |", p.name)
	}
	for _, p := range programs[1:] {
		fmt.Printf(" %s ÷ %s |", programs[0].name, p.name)
	}
	fmt.Printf("\n|%s\n", strings.Repeat(" --- |", 2*len(programs)))
	var over []string
	for _, m := range measures {
		medians := make([]float64, len(programs))
		fmt.Printf("| %s |", m.name)
		for n := range programs {
			var values []float64
			for _, s := range results[n] {
				values = append(values, m.of(s))
			}
			slices.Sort(values)
			at := func(part float64) float64 { return values[int(part*float64(len(values)-1)+0.5)] }
			medians[n] = at(0.5)
			fmt.Printf(" %.2f %s (%.2f to %.2f) |", medians[n], m.unit, at(0.25), at(0.75))
		}
		for n := range programs[1:] {
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

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// coldStart starts the emulator with the program, invokes it once and ends it.
// The program itself is started by the emulator when the first request comes.
func coldStart(ctx context.Context, runtime, program string, payload []byte) (start, error) {
	// As on Lambda, and no variables of this machine: what the SDK finds there
	// would be read, and without TZ the first line of a log reads a file.
	e, err := emulator.Start(ctx, runtime, program, []string{
		"PATH=" + os.Getenv("PATH"), "AWS_REGION=us-east-1", "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_FUNCTION_TIMEOUT=10",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "TZ=:UTC",
	})
	if err != nil {
		return start{}, err
	}
	s, err := invoke(ctx, e, program, payload)
	e.Stop()
	if err == nil {
		s.init, s.invoke, err = durations(e.Log())
	}
	if err != nil {
		return start{}, fmt.Errorf("%w\n%s", err, e.Log())
	}
	return s, nil
}

func invoke(ctx context.Context, e *emulator.Emulator, program string, payload []byte) (start, error) {
	answer, whole, err := e.Invoke(ctx, payload)
	if err != nil {
		return start{}, err
	}
	if string(answer) != `{"batchItemFailures":[]}` {
		return start{}, fmt.Errorf("answer is %q", answer)
	}
	memory, err := peakMemory(e.PID, program)
	return start{whole: whole, memory: memory}, err
}

// peakMemory is VmHWM of the emulator's child that runs the program, in KiB.
func peakMemory(emulator int, program string) (_ float64, err error) {
	defer must.Return(&err)
	tasks := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", emulator)))
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has just ended
		}
		for _, child := range strings.Fields(string(children)) {
			if exe, err := os.Readlink("/proc/" + child + "/exe"); err != nil || filepath.Base(exe) != filepath.Base(program) {
				continue
			}
			status := must.Get(os.ReadFile("/proc/" + child + "/status"))
			m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
			if m == nil {
				return 0, errors.New("the process's status has no VmHWM")
			}
			return strconv.ParseFloat(string(m[1]), 64)
		}
	}
	return 0, fmt.Errorf("the emulator has no child that runs %s", program)
}

var (
	initReport = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)
	invokeDone = regexp.MustCompile(`INVOKE RTDONE\(status: success, .*duration: ([0-9.]+)ms\)`)
)

// durations reads what the emulator says of the init and of the invocation.
func durations(log string) (init, invoke time.Duration, err error) {
	found := [2]time.Duration{}
	for i, line := range []*regexp.Regexp{initReport, invokeDone} {
		m := line.FindAllStringSubmatch(log, -1)
		if len(m) != 1 {
			return 0, 0, fmt.Errorf("the emulator's log has %d lines like %s, want 1", len(m), line)
		}
		ms, err := strconv.ParseFloat(m[0][1], 64)
		if err != nil {
			return 0, 0, err
		}
		found[i] = time.Duration(ms * float64(time.Millisecond))
	}
	return found[0], found[1], nil
}
