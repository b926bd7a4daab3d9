package tools

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Options: by default containers have the machine's network or none.
type EngineOptions struct {
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

// StartEngine starts an engine with all that it has in dir, and returns when it
// answers. The error wraps [ErrNotRun] when that cannot be done on this machine.
func StartEngine(ctx context.Context, dir string, o EngineOptions) (_ *Engine, err error) {
	defer must.Return(&err)
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: a Docker engine of one's own takes Linux and root", ErrNotRun)
	}
	dockerd, err := Look("dockerd", "/usr/sbin/dockerd")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no dockerd (Debian: docker.io)", ErrNotRun)
	}
	// The client that came with it first: another may lack the plugin for BuildKit.
	cli, err := Look("/usr/bin/docker", "docker")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no docker (Debian: docker.io)", ErrNotRun)
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
		return nil, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	if err := harness.Ready(ctx, e.daemon, func() error { return e.Docker(ctx, "version").Run() }); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: dockerd does not answer: %w", ErrNotRun, err), e.kill())
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
			err = errors.Join(err, Run(exec.Command("umount", at[1])))
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

// Import gives the engine an image with the files that write puts into it. The
// changes are lines of a Dockerfile, such as "ENV PATH=/bin".
func (e *Engine) Import(ctx context.Context, image string, changes []string, write func(*tar.Writer) error) (err error) {
	defer must.Return(&err)
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "--change", c)
	}
	cmd := e.Docker(ctx, append(args, "-", image)...)
	in := must.Get(cmd.StdinPipe())
	written := make(chan error, 1)
	go func() {
		w := tar.NewWriter(in)
		err := write(w)
		if err == nil {
			err = w.Close()
		}
		written <- errors.Join(err, in.Close())
	}()
	return errors.Join(Run(cmd), <-written)
}

// Busybox writes Debian's static busybox as the only program, under these names.
func Busybox(w *tar.Writer, names ...string) (err error) {
	defer must.Return(&err)
	busybox, err := Look("busybox")
	if err != nil {
		return fmt.Errorf("%w: there is no busybox (Debian: busybox-static)", ErrNotRun)
	}
	for _, name := range names {
		must.Do(WriteFile(w, busybox, "bin/"+name))
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777})
}

// WriteTree writes a file, or a folder with all in it but tests.
func WriteTree(w *tar.Writer, from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rest, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		return WriteFile(w, name, path.Join(to, filepath.ToSlash(rest)))
	})
}

// WriteFile writes what name is, or links to.
func WriteFile(w *tar.Writer, name, to string) (err error) {
	defer must.Return(&err)
	f := must.Get(os.Open(name))
	defer f.Close()
	info := must.Get(f.Stat())
	must.Do(w.WriteHeader(&tar.Header{Name: to, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}))
	must.Get(io.Copy(w, f))
	return nil
}

// A bridge is a network for containers. The engine's own, docker0, would be left
// behind, or be another engine's.
type bridge struct{ ip, name string }

// addBridge takes the first free network of those for tests (RFC 2544).
func addBridge(ctx context.Context) (*bridge, error) {
	ip, err := Look("ip", "/usr/sbin/ip", "/sbin/ip")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no ip (Debian: iproute2)", ErrNotRun)
	}
	used, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for n := range 250 {
		address := net.IPv4(198, 18, byte(n), 1)
		if contains(used, address) {
			continue
		}
		b := &bridge{ip: ip, name: fmt.Sprintf("sqsbatch%d", n)}
		if err := Run(exec.CommandContext(ctx, ip, "link", "add", "name", b.name, "type", "bridge")); err != nil {
			if _, taken := net.InterfaceByName(b.name); taken == nil {
				continue // by another check, which has not given it its address yet
			}
			return nil, fmt.Errorf("%w: make a network for containers: %w", ErrNotRun, err)
		}
		if err := errors.Join(
			Run(exec.CommandContext(ctx, ip, "address", "add", address.String()+"/24", "dev", b.name)),
			Run(exec.CommandContext(ctx, ip, "link", "set", b.name, "up")),
		); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: make a network for containers: %w", ErrNotRun, err), b.remove())
		}
		return b, nil
	}
	return nil, fmt.Errorf("%w: all of 198.18.0.0/16 is in use", ErrNotRun)
}

func contains(used []net.Addr, address net.IP) bool {
	for _, a := range used {
		if n, ok := a.(*net.IPNet); ok && n.Contains(address) {
			return true
		}
	}
	return false
}

// remove does nothing without a bridge.
func (b *bridge) remove() error {
	if b == nil {
		return nil
	}
	return Run(exec.Command(b.ip, "link", "delete", b.name))
}
