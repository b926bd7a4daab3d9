package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// consumer is the program that is measured. It writes no coverage unless it is covered itself.
const consumer = "test/measure/consumer"

type figures struct{ Goroutines, Started, Allocations, Heap float64 }

// build builds the consumer in dir; covered are the packages whose coverage it notes.
func build(dir string, covered []string) (binary string) {
	args := []string{"build", "-o", filepath.Join(dir, "consumer.exe")}
	if len(covered) > 0 {
		args = append(args, "-cover", "-coverpkg="+module+strings.Join(append(covered, consumer), ","+module))
	}
	run("go", append(args, "./"+consumer)...)
	return args[2]
}

// passed lists functions ("path/file.go:line: name") that a record passes.
func passed(dir, binary, mode string) []string {
	functions := []map[string]bool{{}, {}}
	for n := range functions {
		data := must(os.MkdirTemp(dir, mode))
		consume(binary, mode, n, "GOCOVERDIR="+data)
		for line := range strings.Lines(run("go", "tool", "covdata", "func", "-i="+data)) {
			f := strings.Fields(strings.TrimPrefix(line, module)) // path/file.go:line: name percentage
			if len(f) == 3 && f[2] != "0.0%" && f[0] != "total" && !strings.HasPrefix(f[0], consumer) {
				functions[n][f[0]+" "+f[1]] = true
			}
		}
	}
	maps.DeleteFunc(functions[1], func(f string, _ bool) bool { return functions[0][f] })
	return slices.Sorted(maps.Keys(functions[1]))
}

func filesOf(functions []string) int {
	files := map[string]bool{}
	for _, f := range functions {
		file, _, _ := strings.Cut(f, ":")
		files[file] = true
	}
	return len(files)
}

// consume runs a consumer until n messages are deleted and a receive finds nothing
// more. It returns by how much the figures grew.
func consume(binary, mode string, n int, env ...string) figures {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, mode, strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	stdin := must(cmd.StdinPipe())
	var deleted atomic.Int64
	server := must(sqs.Serve("127.0.0.1:0", sqs.Config{
		History: -1,
		Observe: func(e sqs.Event) {
			if e.Kind == sqs.Deleted {
				deleted.Add(1)
			}
		},
		ObserveCall: func(c sqs.Call) {
			if c.Operation == "ReceiveMessage" && c.Messages == 0 && int(deleted.Load()) == n {
				_ = stdin.Close() // the consumer stops
			}
		},
	}))
	defer func() { _ = server.Close() }()
	name, body := "work", strings.Repeat("x", bodyBytes)
	client := server.Client()
	queue := must(client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name}))
	for range n {
		must(client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body}))
	}
	must(0, server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: 5 * time.Millisecond}))
	cmd.Env = append(append(os.Environ(), env...), "SQSBATCH_QUEUE_URL="+*queue.QueueUrl, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	var f []figures
	must(0, json.Unmarshal(must(cmd.Output()), &f))
	return figures{
		f[1].Goroutines - f[0].Goroutines, f[1].Started - f[0].Started, f[1].Allocations - f[0].Allocations, f[1].Heap - f[0].Heap,
	}
}

// run returns what a program writes to standard output.
func run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return string(must(cmd.Output()))
}
