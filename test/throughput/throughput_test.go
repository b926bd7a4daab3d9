package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, o sqs.Options) *sqs.Server {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// both runs a test with each sort of client on a queue of its own.
func both(t *testing.T, test func(t *testing.T, server *sqs.Server, c client)) {
	for _, sdk := range []bool{false, true} {
		t.Run(map[bool]string{false: "lean", true: "SDK"}[sdk], func(t *testing.T) {
			server := serve(t, sqs.Options{})
			queue, remove, err := newQueue(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			clients, hangUp, err := connect(t.Context(), &process{url: server.URL()}, queue, 1, 50, sdk)
			if err != nil {
				t.Fatal(err)
			}
			defer hangUp()
			test(t, server, clients[0])
			if err := remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClientsDoWhatIsCounted(t *testing.T) {
	both(t, func(t *testing.T, server *sqs.Server, c client) {
		for _, batch := range []int{10, 1} {
			if err := c.send(batch); err != nil {
				t.Fatal(err)
			}
			if n, err := c.take(batch); n != batch || err != nil {
				t.Errorf("take(%d) = %d, %v", batch, n, err)
			}
			if n, err := c.take(batch); n != 0 || err != nil {
				t.Errorf("take(%d) of an empty queue = %d, %v", batch, n, err)
			}
		}
		if sent, deleted := len(server.Events(sqs.Sent)), len(server.Events(sqs.Deleted)); sent != 11 || deleted != 11 {
			t.Errorf("%d messages were sent and %d deleted, want 11", sent, deleted)
		}
	})
}

func TestAFailureIsNotCounted(t *testing.T) {
	both(t, func(t *testing.T, server *sqs.Server, c client) {
		if err := c.send(10); err != nil {
			t.Fatal(err)
		}
		if err := server.Inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Times: 1},
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch", Times: 1}); err != nil {
			t.Fatal(err)
		}
		if err := c.send(10); err == nil {
			t.Error("a batch of which an entry failed counts as sent")
		}
		if _, err := c.take(10); err == nil {
			t.Error("a batch of which an entry failed counts as deleted")
		}
	})
}

func TestLoadCountsMessages(t *testing.T) {
	server := serve(t, sqs.Options{})
	queue, _, err := newQueue(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	clients, hangUp, err := connect(t.Context(), &process{url: server.URL()}, queue, 3, 10, false)
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp()
	if err := fill(t.Context(), clients, 200); err != nil {
		t.Fatal(err)
	}
	n, took, err := load(t.Context(), clients, time.Hour, taking(10)) // ends when the queue is empty
	if n != 200 || took <= 0 || err != nil {
		t.Errorf("load took %d messages in %v, %v; want 200", n, took, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := load(ctx, clients, time.Hour, sending(10)); !errors.Is(err, context.Canceled) {
		t.Errorf("load that was stopped returns %v", err)
	}
}

// answer serves one connection with a fixed text for each request.
func answer(t *testing.T, text string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := in.Discard(int(request.ContentLength)); err != nil {
				return
			}
			if _, err := conn.Write([]byte(text)); err != nil {
				return
			}
		}
	}()
	w, err := dial("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.close()
		_ = listener.Close()
		<-done
	})
	return w
}

func TestWire(t *testing.T) {
	tests := []struct{ name, answer, want, wantError string }{
		{"length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello", ""},
		{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", ""},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", ""},
		{"an error", "HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\noops", "", "status 400: oops"},
		{"not HTTP", "hello\r\n\r\n", "", `begins with "hello`},
		{"a wrong length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "", "invalid syntax"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := answer(t, test.answer)
			for range 2 { // the second finds what the first has left
				got, err := w.call("Test", []byte("{}"))
				if test.wantError != "" {
					if err == nil || !strings.Contains(err.Error(), test.wantError) {
						t.Errorf("error %v, want %q", err, test.wantError)
					}
					return
				}
				if string(got) != test.want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, test.want)
				}
			}
		})
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of 3 = %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of 4 = %v", got)
	}
	if got := steps(1000, 100_000, 50_000); !slices.Equal(got, []int{1000, 50_000}) {
		t.Errorf("steps = %v", got)
	}
}

func TestAWaitingMessageKeepsTheBound(t *testing.T) {
	got, err := heapEach(50_000)
	if err != nil {
		t.Fatal(err)
	}
	if got < waitingBody || got > memoryBound+waitingBody {
		t.Errorf("a waiting message costs %d bytes, want %d to %d", got, waitingBody, memoryBound+waitingBody)
	}
}

func TestProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	if got := resident(os.Getpid()); got < 1<<20 {
		t.Errorf("resident memory is %d bytes", got)
	}
	if got := ownCPUTime(); got < 0 {
		t.Errorf("CPU time is %v", got)
	}
	if cpuTime(-1) >= 0 || resident(-1) >= 0 {
		t.Error("a process that there is not has figures")
	}
}
