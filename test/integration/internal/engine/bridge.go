package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// A bridge is a network for containers. The engine's own, docker0, would be left
// behind, or be another engine's.
type bridge struct{ ip, name string }

// addBridge takes the first free network of those for tests (RFC 2544).
func addBridge(ctx context.Context) (*bridge, error) {
	ip, err := Look("ip", "/usr/sbin/ip", "/sbin/ip")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no ip (Debian: iproute2)", stage.ErrNotRun)
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
		if err := stage.Run(exec.CommandContext(ctx, ip, "link", "add", "name", b.name, "type", "bridge")); err != nil {
			if _, taken := net.InterfaceByName(b.name); taken == nil {
				continue // by another check, which has not given it its address yet
			}
			return nil, fmt.Errorf("%w: make a network for containers: %w", stage.ErrNotRun, err)
		}
		if err := errors.Join(
			stage.Run(exec.CommandContext(ctx, ip, "address", "add", address.String()+"/24", "dev", b.name)),
			stage.Run(exec.CommandContext(ctx, ip, "link", "set", b.name, "up")),
		); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: make a network for containers: %w", stage.ErrNotRun, err), b.remove())
		}
		return b, nil
	}
	return nil, fmt.Errorf("%w: all of 198.18.0.0/16 is in use", stage.ErrNotRun)
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
	return stage.Run(exec.Command(b.ip, "link", "delete", b.name))
}
