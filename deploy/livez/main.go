// Command livez asks the program that runs in the same container whether it
// lives, for orchestrators that can only run a command there (Amazon ECS): the
// image has no shell, and no curl. It ends with 0 when /livez answers 200, and
// else with 1 and the reason on standard error.
//
// The address is that of SQSBATCH_HEALTH_ADDR, which the program listens on.
// Kubernetes needs none of this, it asks over the network.
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
// the reason is told before the command is killed.
const timeout = 3 * time.Second

func main() {
	if err := ask(os.Getenv("SQSBATCH_HEALTH_ADDR"), timeout); err != nil {
		fmt.Fprintln(os.Stderr, "livez:", err)
		os.Exit(1)
	}
}

// ask speaks HTTP by hand: net/http would make the command three times as large.
func ask(addr string, timeout time.Duration) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("SQSBATCH_HEALTH_ADDR is %q: must be where the program serves its health, like 127.0.0.1:8080", addr)
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
