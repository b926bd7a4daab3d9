package reply_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/reply"
)

// TestMain runs the test's own processes, too.
func TestMain(m *testing.M) {
	switch os.Getenv("REPLY_TEST_ROLE") {
	case "server":
		handler.Run(reply.Handler(func(_ context.Context, n int) (int, error) { return -n, nil }))
	case "caller":
		call(1000, 1)
	case "endless":
		call(100, math.MaxInt)
	default:
		os.Exit(m.Run())
	}
}

// call makes n calls side by side, several times, and writes a line each time.
func call(n, times int) {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	c, err := reply.NewClient(awssqs.NewFromConfig(cfg), reply.Config{Name: os.Getenv("REPLY_TEST_ROLE"), Timeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for range times {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if got, err := reply.Call[int](context.Background(), c, "quotes", i+1); err != nil || got != -i-1 {
					log.Fatal(i+1, " was answered with ", got, ", ", err)
				}
			})
		}
		all.Wait()
		fmt.Println("answered")
	}
	if err := c.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// process starts this program in a role.
func (b *bench) process(role string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd = exec.CommandContext(b.Context(), program)
	cmd.Env = append(os.Environ(), "REPLY_TEST_ROLE="+role, "AWS_ENDPOINT_URL_SQS="+b.server.URL(), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "SQSBATCH_QUEUE_URL="+b.server.QueueURL("quotes"), "SQSBATCH_VISIBILITY=10s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Real processes: 1,000 calls side by side each get their own answer, although one of two
// servers is killed meanwhile. What it held comes back after its visibility timeout. The queue of
// a caller that is killed is swept when its tag is old, and no other queue is.
func TestProcesses_KilledServerAndKilledCaller(t *testing.T) {
	b := newBench(t)
	b.Setenv("AWS_LAMBDA_RUNTIME_API", "")
	b.create("quotes", nil)
	before := b.queues()
	killed, _ := b.process("server")
	server, _ := b.process("server")
	defer kill(server)
	endless, lines := b.process("endless")
	if !lines.Scan() || lines.Text() != "answered" {
		t.Fatal("the endless caller got no answers")
	}
	caller, lines := b.process("caller")
	kill(killed)
	if !lines.Scan() || lines.Text() != "answered" {
		t.Error("not all calls were answered")
	}
	if err := caller.Wait(); err != nil {
		t.Error(err)
	}
	kill(endless)

	_, out, _ := b.sweep("--prefix", "sqsbatch-reply-endless", "--yes")
	if !strings.Contains(out, "0 of dead processes") || strings.Contains(out, "sqsbatch-reply-caller") {
		t.Error(out)
	}
	for _, q := range b.server.Snapshot() {
		if !strings.HasPrefix(q.Name, "sqsbatch-reply-endless-") {
			continue
		}
		url, old := b.server.QueueURL(q.Name), time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339)
		if _, err := b.client.TagQueue(t.Context(), &awssqs.TagQueueInput{QueueUrl: &url, Tags: map[string]string{reply.AliveTag: old}}); err != nil {
			t.Error(err)
		}
	}
	if status, out, errs := b.sweep("--prefix", "sqsbatch-reply-endless", "--yes"); status != 0 || b.queues() != before {
		t.Errorf("%d: %s, want %s\n%s\n%s", status, b.queues(), before, out, errs)
	}
}
