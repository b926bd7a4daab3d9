package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// An engine is a Docker engine of our own, which knows no other's images and
// leaves nothing behind. It changes nothing of the machine's network: what is
// built has none, and what runs has the machine's.
type engine struct {
	dir            string // all that it has
	cli, host, log string
	daemon         *exec.Cmd
	ended          chan error // the daemon has
}

// startEngine returns when the engine answers.
func startEngine(ctx context.Context, dir string) (*engine, error) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: a Docker engine of one's own takes Linux and root", errNotRun)
	}
	dockerd, err := look("dockerd", "/usr/sbin/dockerd")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no dockerd (Debian: docker.io)", errNotRun)
	}
	// The client that came with it first: another may lack the plugin for BuildKit.
	cli, err := look("/usr/bin/docker", "docker")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no docker (Debian: docker.io)", errNotRun)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	e := &engine{dir: dir, cli: cli, host: "unix://" + filepath.Join(dir, "socket"), log: filepath.Join(dir, "log"), ended: make(chan error, 1)}
	log, err := os.Create(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e.daemon = exec.Command(dockerd, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--host", e.host, "--bridge=none", "--iptables=false", "--ip6tables=false")
	e.daemon.Stdout, e.daemon.Stderr = log, log
	if err := e.daemon.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotRun, err)
	}
	go func() { e.ended <- e.daemon.Wait() }()
	for range 60 {
		if e.docker(ctx, "version").Run() == nil {
			return e, nil
		}
		select {
		case err := <-e.ended:
			return nil, fmt.Errorf("%w: dockerd ended with %v: %s", errNotRun, err, e.lastWords())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), e.stop())
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil, errors.Join(fmt.Errorf("%w: dockerd does not answer: %s", errNotRun, e.lastWords()), e.stop())
}

// stop ends the daemon, and with it what runs in it.
func (e *engine) stop() error {
	if err := e.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-e.ended:
		return errors.Join(err, e.unmount())
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("dockerd does not end, it is killed"), e.daemon.Process.Kill())
	}
}

// unmount takes away what the daemon leaves mounted: the network of containers
// that had the machine's. Its folder could not be removed.
func (e *engine) unmount() error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line); len(at) > 1 && strings.HasPrefix(at[1], e.dir+"/") {
			err = errors.Join(err, run(exec.Command("umount", at[1])))
		}
	}
	return err
}

func (e *engine) lastWords() string {
	b, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	s := strings.TrimSpace(string(b))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func (e *engine) docker(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.cli, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+e.host, "DOCKER_BUILDKIT=1", "DOCKER_CONTEXT=")
	return cmd
}

// output is what a command of the client prints.
func (e *engine) output(ctx context.Context, args ...string) (string, error) {
	cmd := e.docker(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func look(names ...string) (string, error) {
	var errs []error
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}
