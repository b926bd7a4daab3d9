//go:build linux

package coldstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/emulator"
)

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
func peakMemory(emulator int, program string) (float64, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", emulator))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has just ended
		}
		for _, child := range strings.Fields(string(children)) {
			if exe, err := os.Readlink("/proc/" + child + "/exe"); err != nil || filepath.Base(exe) != filepath.Base(program) {
				continue
			}
			status, err := os.ReadFile("/proc/" + child + "/status")
			if err != nil {
				return 0, err
			}
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
