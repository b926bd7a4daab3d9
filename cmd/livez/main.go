// Command livez asks the program that runs in the same container whether it
// lives, for orchestrators that can only run a command there (Amazon ECS): the
// image has no shell, and no curl. It ends with 0 when /livez answers 200, and
// otherwise with 1 and the reason on standard error. It is a separate program, not a
// flag of the other one, because the main function of that one is the user's.
//
//	livez [HOST]:PORT
//
// Without an argument it asks at SQSBATCH_HEALTH_ADDR, where the program listens
// unless its code says otherwise (handler.PollConfig.HealthAddr): then give the
// address. Kubernetes needs none of this, it asks over the network.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// timeout is less than the 5 s that an ECS health check has by default, so that
// livez prints the reason before ECS kills it.
const timeout = 3 * time.Second

func main() {
	addr, err := address(os.Args[1:], os.Getenv("SQSBATCH_HEALTH_ADDR"))
	if err == nil {
		err = ask(addr, timeout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "livez:", err)
		os.Exit(1)
	}
}

// address returns the address to ask: the argument, or else the one from the environment.
func address(args []string, fromEnvironment string) (string, error) {
	addr, from := fromEnvironment, "SQSBATCH_HEALTH_ADDR"
	switch len(args) {
	case 0:
	case 1:
		addr, from = args[0], "the argument"
	default:
		return "", fmt.Errorf("%d arguments, must be at most one: where the program serves its health, like 127.0.0.1:8080", len(args))
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", fmt.Errorf("%s is %q: must be where the program serves its health, like 127.0.0.1:8080; "+
			"if that is set in its code (HealthAddr), give it to livez as argument", from, addr)
	}
	return addr, nil
}

// ask speaks HTTP by hand: net/http would make the command three times as large.
func ask(addr string, timeout time.Duration) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", addr, timeout) // which takes ":8080" for this machine
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET /livez HTTP/1.0\r\nHost: %s\r\n\r\n", host); err != nil {
		return err
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no answer from %s: %w", addr, err)
	}
	if part := strings.Fields(status); len(part) < 2 || !strings.HasPrefix(part[0], "HTTP/") || part[1] != "200" {
		return fmt.Errorf("%s answered %q", addr, strings.TrimSpace(status))
	}
	return nil
}
