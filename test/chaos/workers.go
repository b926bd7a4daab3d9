package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// slots is how many workers run side by side.
const slots = 3

// worker is a process with its diary.
type worker struct {
	*subprocess.Process
	command *exec.Cmd
	diary   string // a file
}

// process is a worker of the fleet.
type process struct {
	*worker
	index, slot int
	visibility  time.Duration
	health      string        // address
	over        chan struct{} // closed when its end has been judged

	// Under the fleet's lock, until over is closed.
	signal   kind // kill or term, once that was sent
	signaled time.Time
	ended    time.Time
	code     int // -1: by a signal
}

type fleet struct {
	binary, folder string
	server         *server
	networks       [slots + 1]*network // the last one is of package sender
	violations     *violations
	guarded        bool
	settings       []string // of each worker, in addition

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
	err = harness.Until(context.Background(), stopLimit, func() error {
		select {
		case <-p.over:
			return nil // watch has reported it
		default:
		}
		return harness.Listens(p.health)
	})
	if err != nil {
		return fmt.Errorf("%v does not serve its health: %w: %s", p, err, p.tail())
	}
	return nil
}

func (f *fleet) launch(slot int, visibility time.Duration) (_ *process, err error) {
	defer must.Return(&err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("the run is over")
	}
	p := &process{index: len(f.processes), slot: slot, visibility: visibility, over: make(chan struct{})}
	p.health = must.Get(harness.FreeAddress())
	base := "http://" + f.networks[slot].address() + account
	settings := append([]string{"SQSBATCH_CONCURRENCY=32", "SQSBATCH_VISIBILITY=" + visibility.String(), "SQSBATCH_HEALTH_ADDR=" + p.health}, f.settings...)
	if f.guarded {
		settings = append(settings, "CHAOS_STORE=http://"+f.networks[slot].address()+storePath)
	}
	f.server.gates[slot].process.Store(int64(p.index))
	p.worker = must.Get(f.run(fmt.Sprintf("worker-%03d", p.index), base+standardName+","+base+fifoName, settings...))
	f.processes = append(f.processes, p)
	f.current[slot] = p
	go f.watch(p)
	return p, nil
}

// run starts a worker with its queues and settings, which ends when this process does. It keeps a
// diary and a log by its name.
func (f *fleet) run(name, queues string, settings ...string) (_ *worker, err error) {
	defer must.Return(&err)
	file := filepath.Join(f.folder, name)
	w := &worker{command: exec.Command(f.binary, "worker"), diary: file + ".diary"}
	w.command.Env = append(os.Environ(), append(settings,
		"CHAOS_DIARY="+w.diary,
		"SQSBATCH_QUEUE_URL="+queues,
		"SQSBATCH_BACKOFF_BASE="+backoff.String(), "SQSBATCH_BACKOFF_CAP="+backoff.String(),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=worker", "AWS_SECRET_ACCESS_KEY=worker", "AWS_EC2_METADATA_DISABLED=true",
	)...)
	output := must.Get(os.Create(file + ".log"))
	must.Get(w.command.StdinPipe())
	w.Process = must.Get(subprocess.Start(w.command, func(_, line string) { fmt.Fprintln(output, line) }))
	go func() {
		<-w.Ended()
		_ = output.Close()
	}()
	return w, nil
}

// backoff is after how long a failed record comes back.
const backoff = time.Second

// watch waits for a process's end, which must have been asked for.
func (f *fleet) watch(p *process) {
	<-p.Ended()
	f.mu.Lock()
	p.ended, p.code = time.Now(), p.command.ProcessState.ExitCode()
	if p.signal == "" {
		f.violations.add("%v ended by itself, with status %d: %s", p, p.code, p.tail())
	}
	if p.signal == term && p.code != 0 {
		f.violations.add("%v was stopped by SIGTERM and ended with status %d: %s", p, p.code, p.tail())
	}
	f.mu.Unlock()
	close(p.over)
}

// tail is what it printed last, for a message.
func (p *process) tail() string { return strings.Join(p.LastLines(), "\n") }

func (p *process) String() string { return fmt.Sprintf("worker %d (slot %d)", p.index, p.slot) }

// stopLimit is the longest that a stop may take: the default drain limit of
// 24 s, 5 s of cancelling and settling, and as much again for a slow machine.
const stopLimit = time.Minute

// stop sends SIGTERM or kills, and waits for the end.
func (f *fleet) stop(slot int, by kind) *process {
	f.mu.Lock()
	p := f.current[slot]
	p.signal, p.signaled = by, time.Now()
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	switch {
	case by == kill:
		p.Kill() // it may have ended by itself, which was noted
	case !p.Stop(ctx):
		f.violations.add("%v has not ended %v after SIGTERM: %s", p, stopLimit, p.tail())
	}
	<-p.over
	return p
}

func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	list := f.processes
	for _, p := range list {
		if p.ended.IsZero() && p.signal == "" {
			p.signal, p.signaled = kill, time.Now()
		}
	}
	f.mu.Unlock()
	for _, p := range list {
		p.Kill()
		<-p.over
	}
}

// running are the workers that nothing has been sent to.
func (f *fleet) running() (list []*process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.current {
		if p != nil && p.signal == "" && p.ended.IsZero() { // nil: it has not been started yet
			list = append(list, p)
		}
	}
	return list
}
