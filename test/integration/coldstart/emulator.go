//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// coldStart starts the emulator with the program, invokes it once and ends it.
// The program itself is started by the emulator when the first request comes.
func coldStart(ctx context.Context, rie, program string, payload []byte) (start, error) {
	front, runtimeAPI, err := freeAddresses()
	if err != nil {
		return start{}, err
	}
	log, err := os.CreateTemp(filepath.Dir(program), "log")
	if err != nil {
		return start{}, err
	}
	defer log.Close()
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtimeAPI, program)
	// As on Lambda, and no variables of this machine: what the SDK finds there
	// would be read, and without TZ the first line of a log reads a file.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "AWS_REGION=us-east-1", "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_FUNCTION_TIMEOUT=10",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "TZ=:UTC",
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return start{}, err
	}
	// Both: the program would not find the Runtime API if it came first.
	err = errors.Join(listens(ctx, front), listens(ctx, runtimeAPI))
	var s start
	if err == nil {
		s, err = invoke(ctx, cmd.Process.Pid, front, program, payload)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // lets it end the program
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-done

	text, readErr := os.ReadFile(log.Name())
	if err = errors.Join(err, readErr); err == nil {
		s.init, s.invoke, err = durations(string(text))
	}
	if err != nil {
		return start{}, fmt.Errorf("%w\n%s", err, text)
	}
	return s, nil
}

// listens waits until something listens on the address.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Runtime Interface Emulator does not listen on %s: %w", address, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func invoke(ctx context.Context, pid int, front, program string, payload []byte) (start, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	url := "http://" + front + "/2015-03-31/functions/function/invocations"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return start{}, err
	}
	begin := time.Now()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return start{}, err
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	whole := time.Since(begin)
	if err != nil {
		return start{}, err
	}
	if string(answer) != `{"batchItemFailures":[]}` {
		return start{}, fmt.Errorf("answer is %q", answer)
	}
	memory, err := peakMemory(pid, program)
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

// freeAddresses are two ports that nothing listens on.
func freeAddresses() (a, b string, err error) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer first.Close()
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer second.Close()
	return first.Addr().String(), second.Addr().String(), nil
}
