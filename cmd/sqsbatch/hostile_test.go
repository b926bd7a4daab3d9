package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// controls is a text that sets a title, writes the clipboard, erases the screen, changes the
// direction of writing, hides and ends lines: what a terminal obeys.
const controls = "\x1b]0;title\a\x1b]52;c;aGk=\x1b\\\x1b[2J\x1b[31m\x1bc\x00\b\r\u009b2J\u009d0;title\u009c\u007f\u202e\u2066\u200b\u2028\u2029\U000e0001"

// hostile is as much of it as SQS takes in a message, see "SendMessage" in its API reference.
var hostile = strings.Map(func(r rune) rune {
	if r < ' ' && r != '\r' {
		return -1
	}
	return r
}, controls)

// requireHarmless wants nothing in an output that a terminal obeys.
func requireHarmless(t *testing.T, what, output string) {
	t.Helper()
	if !utf8.ValidString(output) {
		t.Errorf("%s is no UTF-8", what)
	}
	for i, r := range output {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			continue
		}
		t.Errorf("%s has %U: %q", what, r, output[max(0, i-60):min(len(output), i+60)])
		return
	}
}

// Every command gets messages, files and templates in which everything is hostile that someone else
// may write, and prints nothing that a terminal obeys. JSON has the same text, escaped.
func TestOutputs_ObeyNoOne(t *testing.T) {
	server := deadLetter(t, "1")
	text, _ := json.Marshal(controls)
	origin, _ := partialfailure.Origin{Reason: controls, MessageID: controls, Queue: "arn:aws:sqs:eu-west-1:1:" + controls, By: controls}.Value(4096)
	dir, queues := t.TempDir(), 0
	// queue makes a queue with hostile messages.
	queue := func() string {
		queues++
		out, err := server.Client().CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(fmt.Sprint("dead-", queues))})
		golden.OK(t, err)
		for _, body := range []string{string(text), hostile, `{"` + hostile + `":` + string(text) + `}`} {
			attributes := map[string]types.MessageAttributeValue{}
			for name, value := range map[string]string{"sqsbatch": origin, "text": hostile, "json": string(text)} {
				attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
			}
			_, err := server.Client().SendMessage(t.Context(), &awssqs.SendMessageInput{
				QueueUrl: out.QueueUrl, MessageBody: &body, MessageAttributes: attributes, MessageGroupId: aws.String(`g!"#$%&'()*`),
			})
			golden.OK(t, err)
		}
		return *out.QueueUrl
	}
	template, bad := filepath.Join(dir, "template.yaml"), filepath.Join(dir, "bad.jsonl")
	quoted := strconv.QuoteToASCII(controls)
	golden.OK(t, os.WriteFile(template, []byte("AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: "+
		quoted+"\n      VisibilityTimeout: "+quoted+"\n      "+quoted+": 1\n"), 0o600))
	golden.OK(t, os.WriteFile(bad, []byte(controls+"\n"), 0o600))
	var running sync.WaitGroup
	var shown atomic.Int64
	try := func(args ...string) {
		if args[0] == "dlq" && len(args) > 2 && args[2] == "QUEUE" {
			args[2] = queue()
		}
		if i := slices.Index(args, "--yes"); i >= 0 && args[1] == "replay" {
			args = append(args, "--journal", filepath.Join(dir, fmt.Sprint("journal-", queues)))
		}
		running.Go(func() {
			_, stdout, stderr := run(t, args...)
			requireHarmless(t, fmt.Sprintf("stdout of %q", args), stdout)
			requireHarmless(t, fmt.Sprintf("stderr of %q", args), stderr)
			if strings.Contains(stdout+stderr, "title") {
				shown.Add(1)
			}
			for line := range strings.Lines(stdout) {
				if strings.HasPrefix(line, "{\"") && !json.Valid([]byte(line)) {
					t.Errorf("%q: no JSON: %q", args, line)
				}
			}
		})
	}
	commands := 0
	for _, args := range [][]string{
		{"dlq", "stats", "QUEUE"}, {"dlq", "stats", "QUEUE", "--by", "source"}, {"dlq", "stats", "QUEUE", "--by", ".body"},
		{"dlq", "stats", "QUEUE", "--by", "shape"}, {"dlq", "show", "QUEUE"}, {"dlq", "show", "QUEUE", "--where", ".body | error"},
		{"dlq", "replay", "QUEUE", "--by", "send", "--edit", ".body = [.body]", "--to", "orders"},
		{"dlq", "replay", "QUEUE", "--by", "send", "--yes"}, {"dlq", "replay", "QUEUE", "--origin", controls, "--yes"},
		{"dlq", "delete", "QUEUE", "--reason", "title", "--limit", "1", "--yes"},
		{"dlq", "try", "QUEUE", "./testdata/hostile"}, {"dlq", "import", "QUEUE", bad}, {"dlq", "import", "QUEUE", controls},
		{"dlq", controls}, {"dlq", "stats", controls}, {"dlq", "stats", "QUEUE", "--region", controls},
		{"lint", template}, {"lint", controls}, {"lint", bad},
		{"reply", "sweep", "--region", controls}, {"sqs", "--queue", controls}, {"local", "--template", template, "--once", controls},
	} {
		commands += 2
		try(slices.Clone(args)...)
		try(append(slices.Clone(args), "--output", "json")...)
	}
	for _, args := range [][]string{{"dlq", "export", "QUEUE"}, {controls}, {"--" + controls}, {"lint", template, "--output", "sarif"}, {"lint", template, "--output", "github"}} {
		commands++
		try(args...)
	}
	running.Wait()
	if n := int(shown.Load()); n < commands/2 {
		t.Errorf("%d of %d outputs have the text", n, commands)
	}
	_, exported, _ := run(t, "dlq", "export", queue())
	var one struct{ Body string }
	for line := range strings.Lines(exported) {
		if err := json.Unmarshal([]byte(line), &one); err != nil || !strings.Contains(one.Body, "title") {
			t.Errorf("%v: %q", err, one.Body)
		}
	}
}

// A function's log lines and errors, and what `sqsbatch sqs` says of messages and calls.
func TestLocalAndServe_ObeyNoOne(t *testing.T) {
	text, _ := json.Marshal(controls)
	for _, args := range [][]string{{"--event", "-"}, {"--event", "-", "--output", "json"}, {"--event", "-", "--mode", "poll"}} {
		var out, errOut bytes.Buffer
		args = append([]string{"local", "--once", "--timeout", "2s", "./testdata/hostile"}, args...)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the function may have to be built
		interrupts := make(chan os.Signal, 2)
		context.AfterFunc(ctx, func() { close(interrupts) })
		cli.Run(ctx, root(cli.IO{Args: args, Stdin: strings.NewReader(string(text)), Stdout: show.To(&out), Stderr: show.To(&errOut), Interrupts: interrupts}))
		cancel()
		if !strings.Contains(out.String()+errOut.String(), "title") {
			t.Errorf("%q: the function printed nothing: %s", args, out.String()+errOut.String())
		}
		requireHarmless(t, "stdout", out.String())
		requireHarmless(t, "stderr", errOut.String())
	}
	var out, errOut bytes.Buffer // of the command, which has ended when they are read
	output, stdout := io.Pipe()
	interrupts := make(chan os.Signal)
	over := make(chan int)
	go func() {
		over <- cli.Run(t.Context(), root(cli.IO{Args: []string{"sqs", "--addr", "127.0.0.1:0", "--verbose", "--queue", "q"}, Stdout: show.To(stdout), Stderr: show.To(&errOut), Interrupts: interrupts}))
	}()
	lines := bufio.NewReader(io.TeeReader(output, &out))
	for line := ""; line != "ready\n"; {
		var err error
		line, err = lines.ReadString('\n')
		golden.OK(t, err)
	}
	endpoint := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.String())
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	client := sqs.New(sqs.Config{}).Client(func(o *awssqs.Options) {
		o.BaseEndpoint, o.HTTPClient = &endpoint, http.DefaultClient
	})
	q := endpoint + "/000000000000/q"
	_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: &hostile})
	golden.OK(t, err)
	body, name := string(text), controls
	_, err = client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: &body})
	golden.OK(t, err)
	_, _ = client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name}) // it is refused, and the output has its name
	interrupts <- os.Interrupt
	<-over
	_ = stdout.Close()
	<-drained
	if !strings.Contains(out.String(), "title") {
		t.Errorf("nothing was said of the messages: %s", out.String())
	}
	requireHarmless(t, "sqs", out.String()+errOut.String())
}

// An Out is the only way to the terminal: nothing else of the command writes to the standard
// outputs.
func TestNothingWritesAroundOut(t *testing.T) {
	golden.OK(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "main.go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		golden.OK(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok {
					switch of.Name + "." + s.Sel.Name {
					case "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf", "log.Println", "log.Fatal":
						t.Errorf("%s uses %s.%s: write to an Out", path, of.Name, s.Sel.Name)
					}
				}
			}
			return true
		})
		return nil
	}))
}
