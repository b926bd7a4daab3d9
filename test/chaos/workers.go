package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// slots is how many workers run side by side.
const slots = 3

// process is one run of the worker.
type process struct {
	index, slot   int
	visibility    time.Duration
	diary, output string // files
	health        string // address
	started       time.Time

	command *exec.Cmd
	hold    io.Closer     // the worker ends when this is closed
	over    chan struct{} // closed when it has ended

	mu       sync.Mutex
	signal   kind // kill or term, once that was sent
	signaled time.Time
	ended    time.Time // set before over is closed
	code     int       // -1: by a signal
}

// fleet are the workers.
type fleet struct {
	binary, folder string
	server         *server
	networks       [slots]*network
	violations     *violations

	mu        sync.Mutex
	processes []*process
	current   [slots]*process
	closed    bool
}

// start runs a new worker in a slot and waits until it serves its health: a
// signal that came before would end it at once, as it does any process.
func (f *fleet) start(slot int, visibility time.Duration) error {
	p, err := f.launch(slot, visibility)
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < stopLimit; time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.over:
			return nil // which watch has told
		default:
		}
		if c, err := net.Dial("tcp", p.health); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("%v does not serve its health after %v: %s", p, stopLimit, tail(p.output))
}

func (f *fleet) launch(slot int, visibility time.Duration) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("the run is over")
	}
	p := &process{index: len(f.processes), slot: slot, visibility: visibility, over: make(chan struct{}), started: time.Now()}
	p.diary = filepath.Join(f.folder, fmt.Sprintf("worker-%03d.diary", p.index))
	p.output = filepath.Join(f.folder, fmt.Sprintf("worker-%03d.log", p.index))
	var err error
	if p.health, err = freeAddress(); err != nil {
		return nil, err
	}
	output, err := os.Create(p.output)
	if err != nil {
		return nil, err
	}
	defer output.Close() // the worker has its own
	base := "http://" + f.networks[slot].address() + account
	p.command = f.worker(p.diary, base+standardName+","+base+fifoName, "SQSBATCH_CONCURRENCY=32",
		"SQSBATCH_VISIBILITY="+visibility.String(), "SQSBATCH_HEALTH_ADDR="+p.health)
	p.command.Stdout, p.command.Stderr = output, output
	if p.hold, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	f.server.gates[slot].process.Store(int64(p.index))
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	f.processes = append(f.processes, p)
	f.current[slot] = p
	go f.watch(p)
	return p, nil
}

// worker is a worker with its queues and settings, not started.
func (f *fleet) worker(diary, queues string, settings ...string) *exec.Cmd {
	c := exec.Command(f.binary)
	c.Env = append(os.Environ(), append(settings,
		"CHAOS_DIARY="+diary,
		"SQSBATCH_QUEUE_URL="+queues,
		"SQSBATCH_BACKOFF=constant",
		"SQSBATCH_BACKOFF_BASE="+backoff.String(),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=worker", "AWS_SECRET_ACCESS_KEY=worker", "AWS_EC2_METADATA_DISABLED=true",
	)...)
	return c
}

// backoff is after how long a failed record comes back.
const backoff = time.Second

// watch waits for a process's end, which must have been asked for.
func (f *fleet) watch(p *process) {
	_ = p.command.Wait() // its state tells
	p.mu.Lock()
	p.ended, p.code = time.Now(), p.command.ProcessState.ExitCode()
	if p.signal == "" {
		f.violations.add("%v ended by itself, with status %d: %s", p, p.code, tail(p.output))
	}
	if p.signal == term && p.code != 0 {
		f.violations.add("%v was stopped by SIGTERM and ended with status %d: %s", p, p.code, tail(p.output))
	}
	p.mu.Unlock()
	close(p.over)
}

func (p *process) String() string { return fmt.Sprintf("worker %d (slot %d)", p.index, p.slot) }

// stopLimit is the longest that a stop may take: the default drain limit of
// 24 s, 5 s of cancelling and settling, and as much again for a slow machine.
const stopLimit = time.Minute

// stop sends SIGTERM or kills, and waits for the end.
func (f *fleet) stop(slot int, by kind) *process {
	f.mu.Lock()
	p := f.current[slot]
	f.mu.Unlock()
	p.mu.Lock()
	p.signal, p.signaled = by, time.Now()
	p.mu.Unlock()
	if by == kill {
		_ = p.command.Process.Kill() // it may have ended by itself, which was noted
		<-p.over
		return p
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.over:
	case <-time.After(stopLimit):
		f.violations.add("%v has not ended %v after SIGTERM: %s", p, stopLimit, tail(p.output))
		_ = p.command.Process.Kill()
		<-p.over
	}
	return p
}

// close ends all workers, at once.
func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	list := f.processes
	f.mu.Unlock()
	for _, p := range list {
		p.mu.Lock()
		if p.ended.IsZero() && p.signal == "" {
			p.signal, p.signaled = kill, time.Now()
		}
		p.mu.Unlock()
		_ = p.command.Process.Kill()
		_ = p.hold.Close()
		<-p.over
	}
}

// running are the workers that nothing has been sent to.
func (f *fleet) running() (list []*process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.current {
		if p == nil {
			continue // it has not been started yet
		}
		p.mu.Lock()
		if p.signal == "" && p.ended.IsZero() {
			list = append(list, p)
		}
		p.mu.Unlock()
	}
	return list
}

// freeAddress finds a port below those that systems give to outgoing
// connections, so that none takes it before the worker listens.
func freeAddress() (string, error) {
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("no free port between 20000 and 32000")
}

// tail is the end of a file, for a message.
func tail(path string) string {
	const most = 1500
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return fmt.Sprintf("%s ends with:\n%s", path, b)
}
