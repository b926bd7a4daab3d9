package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// oldBoto3 is of the last line that speaks the query protocol.
const oldBoto3 = "1.26.165"

var only string

// clientFlags adds the flags of the check.
func clientFlags(f *flag.FlagSet) {
	f.StringVar(&only, "only", "", "run the clients whose names begin with this, such as sqs-consumer")
}

type client struct {
	name string
	run  func(context.Context, *harness.Server) error
}

// checkClients has the programs that others write for SQS speak to
// `sqsbatch sqs`, each a real process against a server of its own: boto3
// (boto3_steps.py), an old boto3 whose protocol is the query one, and three libraries
// that consume (consumer): sqs-consumer for Node.js, Celery with kombu's
// transport, and Spring Cloud AWS. The AWS CLI is boto3's botocore with another
// front: package snippets runs its commands. Messages that boto3 sent also go
// through each verb of `sqsbatch dlq` (deadletters.py).
//
//	go run ./test/compat clients -only Celery
//
// It needs Python 3 with its venv module and a JDK 17. On the first use it also
// needs Maven, and fetches from PyPI, npm and Maven Central. Not on Windows,
// which has no SIGTERM.
func checkClients(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	command := filepath.Join(s.Tmp, "sqsbatch")
	all := install(ctx, s, command)
	must.Do(harness.Build(ctx, command, "./cmd/sqsbatch"))
	for _, c := range all {
		if !strings.HasPrefix(c.name, only) {
			continue
		}
		s.Step(c.name, func() error {
			server, err := harness.StartSQS(ctx, command)
			if err != nil {
				return err
			}
			return errors.Join(c.run(ctx, server), server.Stop())
		})
	}
	return nil
}

// install fetches the clients, as far as they are not there yet.
func install(ctx context.Context, s *tools.Stage, command string) []client {
	env := must.Get(tools.InstallAWSCLI(ctx))
	old := must.Get(tools.InstallPython(ctx, "boto3-"+oldBoto3, "boto3=="+oldBoto3))
	dir := filepath.Join(s.Root, programs)
	script := filepath.Join(dir, "boto3_steps.py")
	return []client{
		{"boto3 " + tools.Boto3, pythonScript(env, script, command)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script, command)},
		{"sqs-consumer " + sqsConsumerVersion + ", Node.js " + tools.NodeVersion, sqsConsumer(ctx, s, dir).check},
		{"Celery " + celeryVersion + ", kombu " + kombuVersion, celery(ctx, dir).check},
		{"Spring Cloud AWS " + springCloudVersion, springCloud(ctx, s, dir).check},
	}
}

// pythonScript runs the steps of python/, which print what is wrong themselves. Some of them
// run the command.
func pythonScript(env *tools.Python, script, command string) func(context.Context, *harness.Server) error {
	return func(ctx context.Context, s *harness.Server) error {
		cmd := env.Command(ctx, "-B", script) // -B: leaves no compiled files next to the script
		cmd.Env = tools.Environment("AWS_ENDPOINT_URL_SQS="+s.URL, "SQSBATCH="+command)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}

// The releases that the checks were written against.
const (
	sqsConsumerVersion = "15.0.3"
	sqsProducerVersion = "8.0.4"
	awsSDKForJS        = "3.1072.0"
	celeryVersion      = "5.7.0"
	kombuVersion       = "5.7.0"
	springCloudVersion = "4.1.0" // programs/pom.xml says the same
)

// sqsConsumer is sqs-consumer with a Node.js of its own.
func sqsConsumer(ctx context.Context, s *tools.Stage, dir string) consumer {
	env := must.Get(tools.InstallNode(ctx, s.Log, "sqs-consumer-"+sqsConsumerVersion+"-"+sqsProducerVersion+"-"+awsSDKForJS,
		"sqs-consumer@"+sqsConsumerVersion, "sqs-producer@"+sqsProducerVersion, "@aws-sdk/client-sqs@"+awsSDKForJS))
	return consumer{command: func() *exec.Cmd {
		return env.Command(context.Background(), filepath.Join(dir, "sqsconsumer.cjs"))
	}}
}

func celery(ctx context.Context, dir string) consumer {
	env := must.Get(tools.InstallPython(ctx, "celery-"+celeryVersion+"-kombu-"+kombuVersion, "celery=="+celeryVersion, "kombu[sqs]=="+kombuVersion))
	return consumer{command: func() *exec.Cmd {
		return env.Command(context.Background(), "-B", filepath.Join(dir, "celery_program.py"))
	}}
}

// springCloud needs a JDK and, for the first use, Maven and Maven Central.
func springCloud(ctx context.Context, s *tools.Stage, dir string) consumer {
	libs := must.Get(harness.Cached("spring-cloud-aws-"+springCloudVersion, func(to string) error {
		_, err := s.Log.Run(exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", filepath.Join(dir, "pom.xml"),
			"dependency:copy-dependencies", "-DoutputDirectory="+to))
		return err
	}))
	classes := filepath.Join(s.Tmp, "springcloud")
	path := filepath.Join(libs, "*")
	must.Get(s.Log.Run(exec.CommandContext(ctx, "javac", "-cp", path, "-d", classes, filepath.Join(dir, "Program.java"))))
	return consumer{exit: 143, skips: true, command: func() *exec.Cmd {
		return exec.Command("java",
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", // starts sooner
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", classes+string(filepath.ListSeparator)+path, "Program")
	}}
}

const (
	planTime = 90 * time.Second // at most, on a slow machine
	stopTime = 30 * time.Second // from SIGTERM to the end
)

// A consumer is a library that receives for its users: its program is in a
// directory of its own. It sends the lines of its standard input to QUEUE_URL,
// and prints "sent" when it has sent all up to an empty one. It handles what comes
// from there as the bodies say, prints a line when its handler is called and when
// that returns (see entry), and stops at SIGTERM.
type consumer struct {
	command func() *exec.Cmd // subprocess ends it
	// exit is its exit code after SIGTERM.
	exit int
	// skips is for one that leaves the rest of a group when one of it fails.
	skips bool
}

// check gives a consumer a standard queue and a FIFO queue.
func (c consumer) check(ctx context.Context, s *harness.Server) error {
	var wrong []error
	for _, p := range []plan{standardPlan(), fifoPlan()} {
		if err := c.run(ctx, s, p); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", p.queue, err))
		}
	}
	return errors.Join(wrong...)
}

func (c consumer) run(ctx context.Context, s *harness.Server, p plan) (err error) {
	defer must.Return(&err)
	begin := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, planTime, fmt.Errorf("not done within %v", planTime))
	defer cancel()
	q := &queues{client: harness.SQSClient(s.URL)}
	q.url, q.dead = must.Get2(harness.MakeQueues(ctx, q.client, p.queue, "dead-"+p.queue, maxReceives))
	book := newLedger(p)
	cmd := c.command()
	cmd.Env = tools.Environment(append(cmd.Env, "AWS_ENDPOINT_URL_SQS="+s.URL, "QUEUE_URL="+q.url, "NOTE="+note)...)
	stdin := must.Get(cmd.StdinPipe())
	process := must.Get(subprocess.Start(cmd, book.line))
	err = drive(limited, stdin, q, p, book, process.Ended())
	stopping, kill := context.WithTimeout(ctx, stopTime)
	defer kill()
	if err != nil {
		kill()
	}
	stopped := time.Now()
	inTime := process.Stop(stopping)
	if code := cmd.ProcessState.ExitCode(); err == nil && (code != c.exit || !inTime) {
		err = fmt.Errorf("%v after SIGTERM (%v at most) it ended with %v", time.Since(stopped).Round(time.Millisecond), stopTime, cmd.ProcessState)
	}
	// No other goroutine has the book now.
	err = errors.Join(append(book.wrong, err, judgePlan(p, book.entries, c.skips))...)
	if err == nil {
		err = errors.Join(harness.RequireEmpty(ctx, q.client, q.url), q.deadLetters(ctx, p))
	}
	if err != nil {
		return fmt.Errorf("%w\nit said last: %s", err, strings.Join(process.LastLines(), "\n"))
	}
	dead, calls := 0, 0
	for _, t := range p.all() {
		calls += t.handled()
		if t.dead() {
			dead++
		}
	}
	fmt.Printf("%6d ms  %s: %d messages, %d calls of the handler, dead letters: %d\n", time.Since(begin).Milliseconds(), p.queue, len(p.all()), calls, dead)
	return nil
}

// drive has a consumer send and handle a plan, and returns when its handler is
// at the last task: that must finish, and be deleted, although SIGTERM comes.
func drive(ctx context.Context, stdin io.Writer, q *queues, p plan, book *ledger, ended <-chan struct{}) (err error) {
	defer must.Return(&err)
	wait := func(what string, c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ended:
			return fmt.Errorf("%s: it ended", what)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	must.Get(io.WriteString(stdin, taskLines(p.tasks...)))
	must.Do(wait("send all but the last task", book.sent))
	must.Do(harness.Until(ctx, planTime, func() error { return harness.RequireEmpty(ctx, q.client, q.url) }))
	must.Get(io.WriteString(stdin, taskLines(p.last)))
	return errors.Join(wait("send the last task", book.sent), wait("start the last task", book.started))
}

type queues struct {
	client    *awssqs.Client
	url, dead string
}

// deadLetters wants the numbers in the dead-letter queue to be those of the plan.
func (q *queues) deadLetters(ctx context.Context, p plan) (err error) {
	defer must.Return(&err)
	var want, got []string
	for _, t := range p.all() {
		if t.dead() {
			want = append(want, strconv.Itoa(t.n))
		}
	}
	for {
		out := must.Get(q.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: &q.dead, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		}))
		if len(out.Messages) == 0 {
			break
		}
		for _, m := range out.Messages {
			got = append(got, aws.ToString(m.MessageAttributes["number"].StringValue))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("dead letters %q, expected %q", got, want)
	}
	return nil
}

// maxReceives is the queues' maxReceiveCount.
const maxReceives = 3

// note is a message attribute of every message, the other one is its number.
const note = "größe ✓, 100 %"

// A task is a message, whose body says what the handler does: "7 g1 1 0" is task 7
// of group g1 ("-": none), which fails once, and takes no time.
type task struct {
	n      int
	group  string
	fails  int // how often: with maxReceives and more it becomes a dead letter
	millis int // how long the handler takes
}

func (t task) String() string { return fmt.Sprintf("%d %s %d %d", t.n, t.group, t.fails, t.millis) }

// handled is how often the handler must see it.
func (t task) handled() int { return min(t.fails+1, maxReceives) }

func (t task) dead() bool { return t.fails >= maxReceives }

// A plan is what a consumer is given by one queue. The last task is sent when
// all others are done, and the consumer is stopped during it.
type plan struct {
	queue string
	tasks []task
	last  task
}

func (p plan) all() []task { return append(p.tasks[:len(p.tasks):len(p.tasks)], p.last) }

// taskLines are the bodies of tasks, one a line, and an empty line.
func taskLines(tasks ...task) string {
	var s strings.Builder
	for _, t := range tasks {
		fmt.Fprintln(&s, t)
	}
	return s.String() + "\n"
}

// standardPlan is 60 messages; twelve fail once, three of the others each time.
func standardPlan() plan {
	p := plan{queue: "orders"}
	for n := range 60 {
		t := task{n: n, group: "-"}
		switch {
		case n%5 == 0:
			t.fails = 1
		case n%20 == 19:
			t.fails = maxReceives
		}
		p.tasks = append(p.tasks, t)
	}
	p.last = task{n: 60, group: "-", millis: 1500}
	return p
}

// fifoPlan is four groups of six that are sent by turns, whose second message fails
// once, and a group of one message that fails each time.
func fifoPlan() plan {
	p := plan{queue: "orders.fifo"}
	for n := range 24 {
		t := task{n: n, group: fmt.Sprint("g", n%4)}
		if n/4 == 1 {
			t.fails = 1
		}
		p.tasks = append(p.tasks, t)
	}
	p.tasks = append(p.tasks, task{n: 24, group: "dead", fails: maxReceives})
	p.last = task{n: 25, group: "g0", millis: 1500}
	return p
}

// An entry is a line of a consumer's handler, with tabs between: started, done or
// failed, the task's number, receive count, group ("-": none), attributes.
type entry struct {
	what     string
	n        int
	receives int
	group    string
	number   string
	note     string
}

func parseEntry(line string) (entry, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 6 || !slices.Contains([]string{"started", "done", "failed"}, fields[0]) {
		return entry{}, fmt.Errorf("not a line of a handler: %q", line)
	}
	n, err1 := strconv.Atoi(fields[1])
	receives, err2 := strconv.Atoi(fields[2])
	return entry{fields[0], n, receives, fields[3], fields[4], fields[5]}, errors.Join(err1, err2)
}

// A ledger keeps what a consumer prints.
type ledger struct {
	last    int           // the number of the last task
	sent    chan struct{} // a value for each line that says sent
	started chan struct{} // a value when the last task starts

	entries []entry // these two are to be read when the consumer has ended
	wrong   []error
}

func newLedger(p plan) *ledger {
	return &ledger{last: p.last.n, sent: make(chan struct{}, 2), started: make(chan struct{}, 1)}
}

// line takes a line of the consumer's standard output.
func (l *ledger) line(stream, text string) {
	if stream != "stdout" {
		return
	}
	if text == "sent" {
		tell(l.sent)
		return
	}
	e, err := parseEntry(text)
	if err != nil {
		l.wrong = append(l.wrong, err)
		return
	}
	l.entries = append(l.entries, e)
	if e.what == "started" && e.n == l.last {
		tell(l.started)
	}
}

// tell does not wait for room: judge finds a consumer that says a thing too often.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// judgePlan says what is wrong with how a plan was handled. A consumer that skips the
// rest of a group when one fails receives that more often.
func judgePlan(p plan, entries []entry, skips bool) error {
	var wrong []error
	tasks := map[int]task{}
	expected, came := map[string][]string{}, map[string][]string{} // by group; a task without one has its own
	group := func(t task) string {
		if t.group == "-" {
			return fmt.Sprint("of task ", t.n)
		}
		return t.group
	}
	for _, t := range p.all() {
		tasks[t.n] = t
		for time := range t.handled() {
			end := "failed"
			if time == t.fails {
				end = "done"
			}
			expected[group(t)] = append(expected[group(t)], fmt.Sprint("started ", t.n), fmt.Sprint(end, " ", t.n))
		}
	}
	handled := map[int]int{}
	for _, e := range entries {
		t, ok := tasks[e.n]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s %d, which was not sent", e.what, e.n))
			continue
		}
		came[group(t)] = append(came[group(t)], fmt.Sprint(e.what, " ", e.n))
		if e.group != t.group || e.number != strconv.Itoa(t.n) || e.note != note {
			wrong = append(wrong, fmt.Errorf("task %d came with group %q, number %q, note %q; expected %q, %d, %q",
				t.n, e.group, e.number, e.note, t.group, t.n, note))
		}
		if e.what == "started" {
			continue
		}
		handled[t.n]++
		if e.receives != handled[t.n] && (!skips || t.group == "-" || e.receives < handled[t.n]) {
			wrong = append(wrong, fmt.Errorf("task %d was handled %d times, and came with receive count %d", t.n, handled[t.n], e.receives))
		}
	}
	for group, want := range expected {
		if !slices.Equal(came[group], want) {
			wrong = append(wrong, fmt.Errorf("group %s:\n    expected %s\n    came     %s", group, strings.Join(want, ", "), strings.Join(came[group], ", ")))
		}
	}
	return errors.Join(wrong...)
}
