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
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
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
func Check(ctx context.Context, s *stage.Stage) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds is %d, must be at least 1", rounds)
	}
	payload, err := events.FS.ReadFile("one.json")
	if err != nil {
		return err
	}
	cli, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	runtime, err := cli.RIE(ctx)
	if err != nil {
		return err
	}
	if err := build(ctx, s); err != nil {
		return err
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

// build builds the programs as template.yaml has it, but for this machine.
func build(ctx context.Context, s *stage.Stage) error {
	for _, p := range programs {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc",
			"-ldflags", "-s -w", "-o", filepath.Join(s.Tmp, p.name), p.pkg)
		cmd.Dir = s.Root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if _, err := s.Log.Run(cmd); err != nil {
			return err
		}
	}
	return nil
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
