package sqs_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func serve(t *testing.T, o sqs.Config) *bench {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	client := newClient(server)
	return &bench{T: t, server: server, ctx: t.Context(), Client: awssqs.New(client.Options(), func(o *awssqs.Options) {
		o.HTTPClient = &http.Client{Transport: connections}
	})}
}

func TestADroppedConnectionTakesNothing(t *testing.T) {
	b := newBench(t, sqs.Config{})
	began, ended := make(chan struct{}), make(chan struct{})
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		b.server.ServeHTTP(w, r)
		close(ended)
	}))
	defer listening.Close()
	queue := b.queue("orders")
	connection := longPoll(t, listening.URL, *queue)
	<-began
	b.ok(connection.Close())
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		t.Error("the long poll goes on without a client")
	}
	b.send(queue, "a")
	b.counts(queue, "1", "0", "0")
}

// longPoll starts a receive of 20 s on its own connection.
func longPoll(t *testing.T, endpoint, queue string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"QueueUrl":%q,"WaitTimeSeconds":20}`, queue)
	fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return connection
}

func TestServeRefusesWhatIsNotLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:0":     "loopback",
		":0":            "loopback",
		"[::]:0":        "loopback",
		"192.0.2.1:0":   "loopback",
		"example.com:0": "loopback",
		"127.0.0.1":     "missing port",
		"127.0.0.1:x":   "127.0.0.1:x",
	} {
		server, err := sqs.Serve(addr, sqs.Config{})
		if err == nil {
			t.Errorf("%s: listens on %s", addr, server.URL())
			server.Close()
		} else if !strings.Contains(err.Error()+addr, want) {
			t.Errorf("%s: %v, want %q in it", addr, err, want)
		}
	}
	for _, addr := range []string{"localhost:0", "127.0.0.2:0"} {
		server, err := sqs.Serve(addr, sqs.Config{})
		if err != nil {
			t.Logf("%s: %v", addr, err) // not every machine has 127.0.0.2
			continue
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestServeSaysThatThePortIsInUse(t *testing.T) {
	b := serve(t, sqs.Config{})
	if _, err := sqs.Serve(strings.TrimPrefix(b.server.URL(), "http://"), sqs.Config{}); err == nil {
		t.Error("two servers on one port")
	}
}

func TestCloseEndsLongPollsOverASocket(t *testing.T) {
	b := serve(t, sqs.Config{})
	connection := longPoll(t, b.server.URL(), *b.queue("orders"))
	defer connection.Close()
	b.ok(b.server.Close())
	// It ends, with an answer or without one.
	b.ok(connection.SetReadDeadline(time.Now().Add(10 * time.Second)))
	if _, err := io.Copy(io.Discard, bufio.NewReader(connection)); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("the long poll goes on after Close")
	}
}

// Serve uses package webguard, whose tests have the refused requests, and answers in the
// request's protocol.
func TestServeRefusesWebPages(t *testing.T) {
	b := serve(t, sqs.Config{AllowedHosts: []string{"host.docker.internal"}})
	list := func(host string) error {
		return errOf(b.ListQueues(b.ctx, nil, func(o *awssqs.Options) { o.HTTPClient = hostClient{o.HTTPClient, host} }))
	}
	equal(b, "another host", clientErrorOf(list("evil.example:9324")), clientError{"AccessDenied", smithy.FaultClient, http.StatusForbidden})
	b.ok(list("host.docker.internal:9324"))
	request, err := http.NewRequest(http.MethodGet, b.server.URL()+"/?Action=ListQueues", http.NoBody)
	b.ok(err)
	answer, err := hostClient{http.DefaultClient, "evil.example"}.Do(request)
	b.ok(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	b.ok(err)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "<Code>AccessDenied</Code>") {
		t.Errorf("another host, by the query protocol: status %d, %s", answer.StatusCode, body)
	}
	if _, err := sqs.Serve("127.0.0.1:0", sqs.Config{AllowedHosts: []string{"http://sqs"}}); err == nil || !strings.Contains(err.Error(), "Config.AllowedHosts[0]") {
		t.Errorf("error %v", err)
	}
}

// hostClient returns a client whose requests have another Host.
type hostClient struct {
	awssqs.HTTPClient
	host string
}

func (c hostClient) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = c.host
	return c.HTTPClient.Do(r)
}

// A server without a socket accepts any host name.
func TestWithoutASocketEveryHostWillDo(t *testing.T) {
	server := newServer(t, sqs.Config{})
	request := httptest.NewRequest(http.MethodGet, "/?Action=ListQueues", http.NoBody)
	request.Host = "sqs.eu-central-1.amazonaws.com"
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, request); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}
