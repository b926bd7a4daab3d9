// Package freeport finds ports for servers that cannot choose one themselves.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Systems give outgoing connections ports from 32768 up (Linux) or from 49152 up. A port
// below these is still free when the server comes to listen on it.
const first, last = 20000, 32767

var returned sync.Map

// Address returns an address of the loopback interface on which nothing listens. It returns
// none twice.
func Address() (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first+1))
		if _, again := returned.LoadOrStore(address, true); again {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port from %d to %d: %w", first, last, err)
}
