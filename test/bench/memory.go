package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const mib = 1 << 20

// A memoryKind is a message, and how its handler reads it.
type memoryKind struct {
	name    string
	body    func() string // made by the process that sends
	encoded bool          // else it is plain
	decode  bool          // into any, else it is only held
}

func memoryKinds() []memoryKind {
	small := func(n int) string { return "[" + strings.Repeat(`{"":0},`, n/7-1) + `{"":0}]` }
	packed := func(text string) string {
		var b bytes.Buffer
		w := must.Get(gzip.NewWriterLevel(&b, gzip.BestCompression))
		must.Get(w.Write([]byte(text)))
		must.Do(w.Close())
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	return []memoryKind{
		{name: "nothing received", body: func() string { return "" }},
		{name: "1 MiB, held as text", body: func() string { return strings.Repeat("x", mib-1000) }},
		{name: "gzip of 16 MiB of zeros (refused)", body: func() string { return packed(strings.Repeat("0", 16*mib)) }, encoded: true},
		{name: "gzip of 16 MiB of small JSON values (refused)", body: func() string { return packed(small(16 * mib)) }, encoded: true, decode: true},
		{name: "gzip of 1 MiB, held as text", body: func() string { return packed(strings.Repeat("x", mib)) }, encoded: true},
		{name: "1 MiB of small JSON values, into any", body: func() string { return small(mib - 1000) }, decode: true},
		{name: "gzip of 1 MiB of small JSON values, into any", body: func() string { return packed(small(mib - 1000)) }, encoded: true, decode: true},
	}
}

const memoryMessages = 40

// memory measures the peak memory of a container's process whose messages are made to fill
// it: ten slots, default settings, ten messages at a time in flight. Each line is a process of its
// own (Linux: VmHWM, the most that was resident), fed by an emulator in this one.
func memory(ctx context.Context, _ []string) (err error) {
	defer must.Return(&err)
	for _, k := range memoryKinds() {
		server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{}))
		url := must.Get(server.Client().CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("q")})).QueueUrl
		body := k.body()
		for range memoryMessages {
			in := &awssqs.SendMessageInput{QueueUrl: url, MessageBody: &body}
			if k.encoded {
				in.MessageAttributes = map[string]types.MessageAttributeValue{encoded.Attribute: {DataType: aws.String("String"), StringValue: aws.String("gzip")}}
			}
			if body != "" {
				must.Get(server.Client().SendMessage(ctx, in))
			}
		}
		cmd := exec.CommandContext(ctx, must.Get(os.Executable()), "memory-process", k.name)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL(), "SQSBATCH_QUEUE_URL="+*url,
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
		cmd.Stderr = os.Stderr
		fmt.Printf("%-46s %s\n", k.name, must.Get(cmd.Output()))
		must.Do(server.Close())
	}
	return nil
}

// memoryProcess handles what is in the queue, and prints the process's peak memory.
func memoryProcess(ctx context.Context, args []string) (err error) {
	defer must.Return(&err)
	all := memoryKinds()
	k := all[slices.IndexFunc(all, func(k memoryKind) bool { return k.name == args[0] })]
	var h batch.Handler = batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		var v any
		if k.decode {
			if err := json.Unmarshal([]byte(r.Body), &v); err != nil {
				return batch.Permanent(err)
			}
		}
		time.Sleep(200 * time.Millisecond) // so that ten are in memory at the same time
		_ = fmt.Sprint(v == nil)
		return nil
	})
	if k.encoded {
		h = encoded.Unwrap(h)
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	cfg := must.Get(config.LoadDefaultConfig(ctx))
	must.Do(handler.Poll(ctx, h, handler.Config{SQS: awssqs.NewFromConfig(cfg), Logger: slog.New(slog.DiscardHandler)}))
	status := must.Get(os.ReadFile("/proc/self/status"))
	peak := regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)
	fmt.Printf("%6s KiB", peak[1])
	return nil
}
