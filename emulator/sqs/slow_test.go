package sqs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// slowServer ends slow clients after limit; they would be waited for forever
// otherwise.
func slowServer(t *testing.T, header, body, answer time.Duration) *sqs.Server {
	t.Helper()
	server, err := sqs.ServeWithin(header, body, answer, sqs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// dial connects to the server and sends text. Reads fail after a minute.
func dial(t *testing.T, server *sqs.Server, text string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	return connection
}

const soon, never = 30 * time.Millisecond, time.Hour

func TestAHeaderThatDoesNotEnd(t *testing.T) {
	server := slowServer(t, soon, never, never)
	connection := dial(t, server, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: Amaz")
	if _, err := io.Copy(io.Discard, connection); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server waits for the rest of the header")
	}
}

func TestAConnectionThatIsNotUsed(t *testing.T) {
	server := slowServer(t, soon, never, never)
	body := "{}"
	connection := dial(t, server, fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	answer, err := io.ReadAll(connection) // to the end of the connection
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK") {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestABodyThatDoesNotEnd(t *testing.T) {
	server := slowServer(t, never, soon, never)
	for _, header := range []string{"Content-Length: 100", "Content-Length: 9000000000000000000", "Transfer-Encoding: chunked"} {
		connection := dial(t, server, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n"+header+"\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		text, err := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "did not arrive within 30ms") ||
			response.Header.Get("X-Amzn-Query-Error") != "RequestTimeout;Sender" || err != nil {
			t.Errorf("%s: %d %s %v", header, response.StatusCode, text, err)
		}
		_ = response.Body.Close()
		if _, err := io.Copy(io.Discard, connection); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", header)
		}
	}
}

// A body that comes in time makes no deadline for the long poll that it asks for.
func TestALongPollIsNotASlowBody(t *testing.T) {
	server := slowServer(t, never, soon, never)
	queue := `"QueueUrl":"` + server.QueueURL("orders") + `"`
	if status, _, _ := post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`); status != http.StatusOK {
		t.Fatal(status)
	}
	body := `{` + queue + `,"WaitTimeSeconds":20}`
	connection := dial(t, server, fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	time.AfterFunc(4*soon, func() { post(server, "AmazonSQS.SendMessage", `{`+queue+`,"MessageBody":"late"}`) })
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), `"late"`) {
		t.Errorf("%s %v", text, err)
	}
}

// The client takes 25 MiB a second of answers of 10 MiB each.
func TestAnAnswerThatIsTakenSlowly(t *testing.T) {
	server := slowServer(t, never, never, soon)
	queue := `"QueueUrl":"` + server.QueueURL("orders") + `"`
	post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders","Attributes":{"VisibilityTimeout":"0"}}`)
	for range 10 {
		post(server, "AmazonSQS.SendMessage", `{`+queue+`,"MessageBody":"`+strings.Repeat("x", 1<<20)+`"}`)
	}
	connection := dial(t, server, "")
	if err := connection.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	body := `{` + queue + `,"MaxNumberOfMessages":10}`
	request := fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := io.WriteString(connection, strings.Repeat(request, 3)); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for {
		n, err := io.CopyN(io.Discard, connection, 256<<10)
		total += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection stays")
		} else if err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if total > 20<<20 {
		t.Errorf("took %d bytes: the first answer should have ended the connection", total)
	}
}
