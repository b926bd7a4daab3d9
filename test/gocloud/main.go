// Command gocloud compares sqsbatch with a loop written by hand with AWS's SDK and with gocloud.dev's
// pubsub/awssnssqs, on the same server: emulator/sqs over loopback, which answers each call after 5 ms.
//
//	go run . consume    what it costs to consume a queue
//	go run . send       what it costs to send messages to one
//
// consume has messages a second, requests, and what is held: all have 64 slots and the same handler.
// Rates are those of the middle eight tenths of the messages. It fails when sqsbatch takes more than
// 0.21 requests a message.
//
// send has messages a second, messages a call, and how long a caller waits. On the FIFO queue each
// message is of one of 1,000 groups. Every message is sent by a goroutine that waits for its
// confirmation. At a rate, the wait counts from when the message was due. The last two loads have no
// such goroutines: what the server takes from bare loops of full batches, and from Enqueue. In the last
// one the server answers at once, so that the processor is the limit. The server shares it. It fails
// when the sender puts fewer than 9.5 messages into a call at 5,000 messages a second, or takes more
// than 0.105 requests a message at full load.
//
// Rates and waits depend on the machine, and are for people to read. The tests are gocloud.dev's own.
// It is a module of its own, so that sqsbatch does not depend on its opponents.
package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// latency is how long the server takes for a call.
const latency = 5 * time.Millisecond

func main() {
	commands := map[string]func(args []string) error{"consume": consume, "send": send}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "gocloud: say consume or send")
		os.Exit(2)
	}
	fmt.Printf("%s/%s, %d CPUs, %s; %v a call\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), latency)
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// counting counts requests, the SDK's own tries included.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) Do(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTrip(r)
}

// processorTime is what this process has used so far, the server included.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
