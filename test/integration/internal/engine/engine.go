// Package engine gives the integration checks a Docker engine of their own,
// which knows no other's images, changes nothing that was there, and leaves
// nothing behind.
//
// It needs Linux, root, and dockerd (Debian: docker.io). No image can be pulled:
// [Engine.Import] makes one.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Options: by default containers have the machine's network or none.
type Options struct {
	// Bridge gives containers a network of their own, with ports on the loopback
	// interface, and nothing else. It needs ip (Debian: iproute2).
	Bridge bool
}

// An Engine is a Docker engine that runs.
type Engine struct {
	// Host is what DOCKER_HOST is for clients.
	Host string

	dir    string // all that it has
	cli    string
	bridge *bridge // nil without one
	daemon *subprocess.Process
}

// Start starts an engine with all that it has in dir, and returns when it
// answers. The error wraps [stage.ErrNotRun] when that cannot be done on this machine.
func Start(ctx context.Context, dir string, o Options) (_ *Engine, err error) {
	defer must.Return(&err)
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: a Docker engine of one's own takes Linux and root", stage.ErrNotRun)
	}
	dockerd, err := Look("dockerd", "/usr/sbin/dockerd")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no dockerd (Debian: docker.io)", stage.ErrNotRun)
	}
	// The client that came with it first: another may lack the plugin for BuildKit.
	cli, err := Look("/usr/bin/docker", "docker")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no docker (Debian: docker.io)", stage.ErrNotRun)
	}
	must.Do(os.MkdirAll(dir, 0o700))
	e := &Engine{dir: dir, cli: cli, Host: "unix://" + filepath.Join(dir, "socket")}
	network := "none"
	if o.Bridge {
		e.bridge = must.Get(addBridge(ctx))
		network = e.bridge.name
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.bridge.remove())
		}
	}()
	e.daemon, err = subprocess.Start(exec.Command(dockerd, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--host", e.Host, "--bridge="+network, "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", stage.ErrNotRun, err)
	}
	if err := harness.Ready(ctx, e.daemon, func() error { return e.Docker(ctx, "version").Run() }); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: dockerd does not answer: %w", stage.ErrNotRun, err), e.kill())
	}
	return e, nil
}

// Stop ends the daemon, and with it what runs in it, and takes away its network.
func (e *Engine) Stop() error { return errors.Join(e.kill(), e.bridge.remove()) }

func (e *Engine) kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if !e.daemon.Stop(ctx) {
		return errors.New("dockerd does not end, it is killed")
	}
	return errors.Join(e.daemon.Err(), e.unmount())
}

// unmount takes away what the daemon leaves mounted: the network of containers
// that had the machine's. Its folder could not be removed.
func (e *Engine) unmount() error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line); len(at) > 1 && strings.HasPrefix(at[1], e.dir+"/") {
			err = errors.Join(err, stage.Run(exec.Command("umount", at[1])))
		}
	}
	return err
}

// Docker is a run of the client.
func (e *Engine) Docker(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.cli, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+e.Host, "DOCKER_BUILDKIT=1", "DOCKER_CONTEXT=")
	return cmd
}

// Output is what a command of the client prints.
func (e *Engine) Output(ctx context.Context, args ...string) (string, error) {
	cmd := e.Docker(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// Look finds the first of these programs that there is.
func Look(names ...string) (string, error) {
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
