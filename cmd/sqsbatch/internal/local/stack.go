package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// defaultEnvironments limits the concurrent processes if the template has no limit. An account's
// default on AWS is 1,000, too many for one machine.
const defaultEnvironments = 10

// region is the region of the queues and of the template's ARNs.
const region = "us-east-1"

// slowBuild is the time after which a build is explained.
const slowBuild = 5 * time.Second

// A stack has the queues, and the function that receives from them.
type stack struct {
	*plan
	stats   *track.Stats
	found   []rules.Finding
	server  *sqs.Server
	client  *awssqs.Client
	closeFn func() // closes fn; may be called more than once
	mapping lambda.Mapping
	dir     string // directory of the built program
	binary  string
	dedup   int        // number of deduplication ids that sendInput made
	broken  chan error // the error of a process that cannot start

	// killAll kills the processes, and returns their number. Nil before the start.
	killAll atomic.Pointer[func() int]

	// run feeds the function until ctx ends and all records are settled, or kill ends.
	run func(ctx, kill context.Context) error
	// deploy makes run use the program that was built last. Nil if it does so by itself.
	deploy func() error
}

// start builds the function, and starts the queues and the deployment. stack.run starts polling.
func (p *plan) start(ctx context.Context, r *run, tracker *track.Tracker) (_ *stack, err error) {
	s := &stack{plan: p, stats: r.stats, broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.server, err = sqs.Serve(p.o.addr, sqs.Config{
		Observe: r.page.Observe(tracker.Queue), ObserveCall: r.page.ObserveCall(r.stats.Call), AllowedHosts: p.o.hosts,
	}); err != nil {
		return nil, listenError(p.o.addr, err)
	}
	if p.deployment, err = p.resolve(s.server.URL()); err != nil {
		return nil, err
	}
	s.found = p.lint()
	s.client = awssqs.New(awssqs.Options{
		Region:       region,
		BaseEndpoint: aws.String(s.server.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   s.server.HTTPClient(),
	})
	for _, q := range p.deployment.Queues {
		if _, err := s.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &q.Name, Attributes: s.attributes(q)}); err != nil {
			return nil, fmt.Errorf("%s: queue %s: %w", p.template.Path, cmp.Or(q.LogicalID, q.Name), err)
		}
	}
	if p.o.mode == modeLambda {
		if err = s.connect(tracker); err != nil {
			return nil, err
		}
	}
	s.warn(r, tracker)
	if s.dir, err = os.MkdirTemp("", "sqsbatch-local-"); err != nil {
		return nil, err
	}
	r.view.Say("building " + p.pkgName)
	slow := time.AfterFunc(slowBuild, func() { // not on standard output: a build that ends when that is closed leaves files
		fmt.Fprintln(r.stderr, "still building: the first time, Go compiles all that the function imports")
	})
	s.binary, err = p.builder.Build(ctx, p.pkg, s.dir)
	slow.Stop()
	if err != nil {
		return nil, err
	}
	if p.o.mode == modePoll {
		s.run = func(ctx, kill context.Context) error { return s.runContainers(ctx, kill, tracker) }
		return s, nil
	}
	s.run, s.deploy = s.poll, func() error { return s.deployLambda(tracker) }
	if err = s.deploy(); err != nil {
		return nil, err
	}
	return s, nil
}

// deployLambda deploys the program that was built, in place of another one.
func (s *stack) deployLambda(tracker *track.Tracker) error {
	if s.closeFn != nil {
		s.closeFn()
	}
	select {
	case <-s.broken: // of the other one
	default:
	}
	f := s.deployment.Function
	perEnvironment := 0
	if f.ManagedInstances {
		perEnvironment = 1 // not the template's value, so that each line has its invocation
	}
	fn, err := lambda.Start(lambda.Function{
		Name: f.Name, Timeout: f.Timeout, MemoryMB: f.MemoryMB, Env: s.environment(),
		Command: []string{s.binary}, Concurrency: s.environments(), Output: tracker.Line,
		ConcurrencyPerEnvironment: perEnvironment,
	})
	if err != nil {
		return fmt.Errorf("%s: function %s: %w", s.template.Path, f.LogicalID, err)
	}
	s.mapping.Function, s.closeFn = fn, sync.OnceFunc(func() { _ = fn.Close() })
	kill := fn.Kill
	s.killAll.Store(&kill)
	return nil
}

// attributes returns the attributes of a new queue. In a trial, messages can be received at
// once, do not expire, and come back only if the function changes their visibility timeout.
func (s *stack) attributes(q template.Queue) map[string]string {
	if !s.o.trial {
		return q.Attributes
	}
	attributes := maps.Clone(q.Attributes)
	delete(attributes, "DelaySeconds")
	delete(attributes, "MessageRetentionPeriod")
	if q.ARN == s.deployment.Queue.ARN {
		attributes["VisibilityTimeout"] = strconv.Itoa(hidden)
	}
	return attributes
}

func listenError(addr string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("%w; choose another address with --addr, or leave the flag out for a free port", err)
	}
	return fmt.Errorf("--addr %s: %w", addr, err)
}

// environment returns the function's environment on Lambda: the template's variables,
// variables by which this tool shows each record, and --env.
func (s *stack) environment() map[string]string {
	f := s.deployment.Function
	env := maps.Clone(f.Environment)
	env["AWS_ENDPOINT_URL_SQS"] = s.server.URL()
	env[settings.LogSucceeded.Name] = "true"
	env["AWS_LAMBDA_LOG_FORMAT"] = "JSON"
	env[settings.LogLevel] = "INFO"
	if level := strings.ToUpper(f.LogLevel); level == "DEBUG" || level == "TRACE" {
		env[settings.LogLevel] = level
	}
	s.hasten(env)
	maps.Copy(env, s.o.env)
	return env
}

// outage replaces SQSBATCH_OUTAGE's default, so that a run does not wait 15 minutes for a record
// that always fails.
const outage = 10 * time.Second

// configured returns the variables of the template and of --env.
func (s *stack) configured() map[string]string {
	env := maps.Clone(s.deployment.Function.Environment)
	maps.Copy(env, s.o.env)
	return env
}

// hastens reports whether this tool sets the outage: neither the template nor --env spaces
// retries. A trial has no retries.
func (s *stack) hastens() bool {
	for name := range s.configured() {
		if name == settings.Outage.Name || strings.HasPrefix(name, settings.Backoff.Name) {
			return false
		}
	}
	return !s.o.trial
}

// hasten sets the outage in env if hastens.
func (s *stack) hasten(env map[string]string) {
	if s.hastens() {
		env[settings.Outage.Name] = outage.String()
	}
}

// environments returns the largest number of concurrent processes.
func (s *stack) environments() int {
	if n := s.deployment.Function.ReservedConcurrency; n != nil && *n > 0 {
		return min(*n, 1000)
	}
	return min(cmp.Or(s.deployment.Event.MaximumConcurrency, defaultEnvironments), 1000)
}

// poll runs the mapping until ctx ends and running invocations are settled, or kill ends.
// It returns an error if the mapping or the function cannot run.
func (s *stack) poll(ctx, kill context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(kill, s.closeFn)()
	ended := make(chan error, 1)
	go func() { ended <- s.mapping.Run(ctx) }()
	select {
	case err := <-ended:
		if errors.Is(err, lambda.ErrClosed) {
			return nil // closed by a second interrupt
		}
		return err
	case err := <-s.broken:
		cancel()
		s.closeFn()
		<-ended
		return err
	}
}

func (s *stack) header() view.Header {
	d := s.deployment
	h := view.Header{
		Settings: s.settings, Package: s.pkgName, Function: d.Function.Name,
		Timeout: d.Function.Timeout, MemoryMB: d.Function.MemoryMB,
		Mode: s.o.mode, Processes: s.o.processes, Variables: s.variables(),
		Endpoint: s.server.URL(), QueueURL: d.Queue.URL, DeadLetterURL: s.deadLetters().URL,
		MaxReceiveCount: d.Queue.MaxReceiveCount, Visibility: d.Queue.Visibility(),
		BatchSize: d.Event.BatchSize, Window: d.Event.Window, MaximumConcurrency: d.Event.MaximumConcurrency,
		ReportBatchItemFailures: d.Event.ReportBatchItemFailures,
		Filters:                 s.mapping.Filters, Once: s.o.once,
	}
	if s.hastens() {
		h.Outage = outage
	}
	for _, m := range d.More {
		h.MoreQueues = append(h.MoreQueues, view.Queue{URL: m.Queue.URL, Visibility: m.Queue.Visibility()})
	}
	return h
}

// shown returns what the page shows of the function.
func (s *stack) shown(h view.Header) console.Run {
	run := console.Run{Server: s.server, Kill: s.killProcesses, Source: s.deployment.Queue.Name}
	run.About = console.About{Function: h.Function, Timeout: h.Timeout, Lambda: s.o.mode == modeLambda}
	if len(s.input.messages) > 0 {
		run.Sample = s.input.messages[0].Body
	}
	for _, f := range s.found {
		run.Findings = append(run.Findings, console.Finding{Rule: f.ID, Severity: string(f.Severity), Place: f.Pos.String(), Message: f.Message})
	}
	add := func(name, value string) {
		run.Settings = append(run.Settings, console.Setting{Name: name, Value: value})
	}
	add("Template", h.Settings)
	add("Timeout", h.Timeout.String())
	if run.Lambda {
		add("Batch size", strconv.Itoa(h.BatchSize))
		add("Window", h.Window.String())
		if h.MaximumConcurrency > 0 {
			add("Maximum concurrency", strconv.Itoa(h.MaximumConcurrency))
		}
		add("ReportBatchItemFailures", strconv.FormatBool(h.ReportBatchItemFailures))
	} else {
		add("Processes", strconv.Itoa(h.Processes))
	}
	for _, v := range h.Variables {
		name, value, _ := strings.Cut(v, "=")
		add(name, value)
	}
	return run
}

// killProcesses kills the function's processes, as if they had crashed, and returns their number.
func (s *stack) killProcesses() int {
	if kill := s.killAll.Load(); kill != nil {
		return (*kill)()
	}
	return 0
}

// deadLetters returns the dead-letter queue, the zero Queue if there is none.
func (s *stack) deadLetters() (dead template.Queue) {
	for _, q := range s.deployment.Queues {
		if q.ARN == s.deployment.Queue.DeadLetterARN {
			dead = q
		}
	}
	return dead
}

func (s *stack) close() {
	if s.closeFn != nil {
		s.closeFn()
	}
	if s.server != nil {
		_ = s.server.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// shortVisibility is the rule about a visibility timeout below the function's timeout, for which
// Lambda refuses the mapping.
const shortVisibility = "SB105"

// connect prepares the mapping and checks its settings, before the build.
func (s *stack) connect(tracker *track.Tracker) error {
	source, e := s.deployment.Queue, s.deployment.Event
	s.mapping = lambda.Mapping{
		SQS: s.client, QueueURL: source.URL, QueueARN: source.ARN,
		BatchSize: e.BatchSize, Window: e.Window, ReportBatchItemFailures: e.ReportBatchItemFailures,
		MaximumConcurrency: e.MaximumConcurrency,
		Started:            tracker.Started,
		Filtered:           tracker.Filtered,
		Ended: func(e lambda.Ended) {
			if failure := e.Result.Error; failure != nil && failure.Init {
				s.fail(failure)
			}
			tracker.Ended(e)
		},
		Errored: func(e *lambda.PollError) { tracker.Warn(e.Error()) },
	}
	for i, f := range e.Filters {
		if _, err := lambda.ParseFilter(f.Pattern); err != nil {
			return fmt.Errorf(`%s: function %s, event %s: filter %d of FilterCriteria, %.200s: %w. Correct it, as in '{"body": {"status": ["paid"]}}' or, for bodies that are not JSON, '{"body": [{"prefix": "paid "}]}'`,
				f.Pos, s.deployment.Function.LogicalID, e.Name, i+1, strings.TrimSpace(f.Pattern), err)
		}
		s.mapping.Filters = append(s.mapping.Filters, f.Pattern)
	}
	probe := s.mapping
	probe.Function = &lambda.Deployment{}
	if err := probe.Validate(); err != nil {
		return fmt.Errorf("%s: event %s: %w", e.Pos, e.Name, err)
	}
	if i := slices.IndexFunc(s.found, func(f rules.Finding) bool { return f.ID == shortVisibility }); i >= 0 {
		return errors.New(s.found[i].String())
	}
	return nil
}

// printed returns the output of a process that cannot start, with a hint unless the output
// is about a setting.
func printed(output []string, hint string) (text string) {
	said := strings.Join(output, "\n  ")
	if said != "" {
		text = "\nit printed:\n  " + said
	}
	if !strings.Contains(said, "SQSBATCH_") {
		text += "\n" + hint
	}
	return text
}

// fail ends the run after an init error, since every other start would fail, too.
func (s *stack) fail(ferr *lambda.FunctionError) {
	message := ferr.Message
	if _, after, ok := strings.Cut(message, " Error: "); ok && strings.HasPrefix(message, "RequestId: ") {
		message = after
	}
	text := fmt.Sprintf("%s cannot start: %s", s.pkgName, message)
	text += printed(ferr.Output, "a function's main calls handler.Run (or aws-lambda-go's lambda.Start), which does not return")
	select {
	case s.broken <- errors.New(text):
	default:
	}
}
