package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// program is this binary as a user's program that polls a queue of an
// emulated SQS on a socket.
type program struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, errors bytes.Buffer
	client      *awssqs.Client
	url         string
	events      chan sqs.Event
}

func startProgram(t *testing.T, env ...string) *program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send a process SIGTERM")
	}
	p := &program{t: t, events: make(chan sqs.Event, 100)}
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{Observe: func(e sqs.Event) { p.events <- e }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	p.client = server.Client()
	name := "orders"
	if _, err := p.client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	p.url = server.QueueURL(name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	p.cmd = exec.CommandContext(ctx, os.Args[0])
	p.cmd.Env = append(os.Environ(), append([]string{"SQSBATCH_TEST_RUN=1", "AWS_LAMBDA_RUNTIME_API=", "AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true", "AWS_ENDPOINT_URL_SQS=" + server.URL(), "AWS_REGION=us-east-1", "SQSBATCH_QUEUE_URL=" + p.url}, env...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await waits until something happened to a message.
func (p *program) await(kind sqs.Kind, body string) {
	p.t.Helper()
	for {
		select {
		case e := <-p.events:
			if e.Kind == kind && e.Body == body {
				return
			}
		case <-p.t.Context().Done():
			p.t.Fatal("the test is over")
		case <-time.After(50 * time.Second):
			p.t.Fatalf("%q was not %s: %s%s", body, kind, &p.out, &p.errors)
		}
	}
}

func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func TestSIGTERMOrSIGINT_StopsTheProgram(t *testing.T) {
	for s, env := range map[os.Signal][]string{
		syscall.SIGTERM: nil,
		os.Interrupt:    {"AWS_REGION=", "AWS_ENDPOINT_URL_SQS="}, // the queue's URL says enough
	} {
		p := startProgram(t, env...)
		send(t, p.client, p.url, "swordfish", "fail")
		p.await(sqs.Deleted, "swordfish")
		p.signal(s)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v: %v, want status 0: %s%s", s, err, &p.out, &p.errors)
		}
		if strings.Contains(p.out.String(), "swordfish") {
			t.Errorf("a body is in the log: %s", &p.out)
		}
		messages := map[string]bool{}
		for line := range strings.Lines(p.out.String()) {
			var l map[string]any
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("the log has the line %q: %v", line, err)
			}
			if l["timestamp"] == nil || l["level"] == nil || l["logger"] != "sqsbatch" {
				t.Errorf("a line of the log is %v", l)
			}
			text, _ := l["message"].(string)
			messages[text] = true
		}
		if !messages["record"] || !messages["batches"] {
			t.Errorf("the log is %s, want the failure and the sum", &p.out)
		}
	}
}

func TestSecondSignal_EndsTheProgramAtOnce(t *testing.T) {
	p := startProgram(t, "SQSBATCH_DRAIN_LIMIT=1h")
	send(t, p.client, p.url, "hang")
	p.await(sqs.Received, "hang")
	p.signal(syscall.SIGTERM)
	p.signal(os.Interrupt) // another one: two of a kind may be delivered as one
	err := p.cmd.Wait()
	if p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(p.errors.String(), "second signal") {
		t.Errorf("%v, %s; want status 1 and why", err, &p.errors)
	}
}

func TestWrongSetting_ProgramExitsAndNamesIt(t *testing.T) {
	for _, test := range []struct{ env, says string }{
		{"SQSBATCH_WAIT=1ms", "SQSBATCH_WAIT"},
		{"SQSBATCH_QUEUE_URL=nothing", "there is no such queue"},
	} {
		p := startProgram(t, test.env)
		_ = p.cmd.Wait()
		if p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(p.errors.String(), test.says) {
			t.Errorf("%s: status %d, %s; want status 1 and %q", test.env, p.cmd.ProcessState.ExitCode(), &p.errors, test.says)
		}
	}
}
