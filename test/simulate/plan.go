package simulate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Plan is all of a history that is decided before it begins, as plain data: a seed gives one plan.
type Plan struct {
	Seed      uint64
	Queues    []Queue
	Functions []Function
	Messages  []Message
	Faults    []sqs.Fault
	Breaks    []Break
	Kills     []Kill
	// StoreFaults are of the idempotency store, each call of which takes StoreTakes.
	StoreFaults []StoreFault
	StoreTakes  time.Duration
	// Replicas poll the queues in the long-poll mode. Without any, event source mappings invoke the functions.
	Replicas []Replica
	// Heal is when the faults end and every handler succeeds from then on.
	Heal time.Duration
}

// Queue is a queue with its event source mapping.
type Queue struct {
	Name       string // ends in .fifo on FIFO queues
	Visibility time.Duration
	// MaxReceive and DeadLetters are those of the RedrivePolicy; 0 and "" without one.
	MaxReceive  int
	DeadLetters string

	Function    int // index of the function that is invoked
	BatchSize   int
	Window      time.Duration
	Concurrency int  // MaximumConcurrency
	Report      bool // ReportBatchItemFailures
}

// FIFO goes by the name, as everywhere.
func (q Queue) FIFO() bool { return strings.HasSuffix(q.Name, ".fifo") }

// Function is a Lambda function with the toolkit's configuration.
type Function struct {
	Timeout      time.Duration
	Environments int
	// PerEnvironment is how many invocations an environment runs at a time (AWS_LAMBDA_MAX_CONCURRENCY).
	PerEnvironment int
	JSON           bool // the user's function is wrapped in batch.JSON
	Bulk           int  // it writes so many records at once, by package bulk; 0 if it handles one

	// What follows is handler.Config's.
	Concurrency     int
	Reserve         time.Duration
	RecordTimeout   time.Duration
	MinRemaining    time.Duration
	Grace           time.Duration
	Backoff         string // "", outage, constant, linear, hashed, negative, endless, panics
	Outage          time.Duration
	DeadLetterQueue string // a queue's name; "arn:" before it for the ARN
	MaxReceiveCount int
	OnPermanent     string
	ErrorIfAllFail  bool
	DeleteSucceeded bool
	LogSucceeded    bool

	// SlowHook is a hook's method that blocks for HookTakes in each HookTakesEach-th call.
	SlowHook      string
	HookTakes     time.Duration
	HookTakesEach int

	Guard Guard
}

// concurrency is how many records of an invocation are handled at a time.
func (f Function) concurrency() int {
	return cmp.Or(f.Concurrency, 10)
}

// slowStart reports whether records may begin when a hook lets them, not when they could.
func (f Function) slowStart() bool {
	return f.SlowHook == "RecordContext" || f.SlowHook == "BatchContext"
}

// slowEnd reports whether hooks may be notified of a batch when its response is known.
func (f Function) slowEnd() bool {
	return f.SlowHook == "BatchSettled" || f.SlowHook == "Called" || f.SlowHook == "Warned"
}

// untilHeal is longer than anything lasts.
const untilHeal = 1000 * time.Hour

// Message is one that the simulator sends.
type Message struct {
	Number     int
	Key        int // of its work, copies have the same; 0 for one of its own
	At         time.Duration
	Queue      int
	Group      string
	Malformed  bool // no JSON
	Attributes int  // how many it has, 0 to 10
	Delay      time.Duration
	Trace      bool // it has an AWSTraceHeader
	// Acts are what the handler does at each attempt, from the first; after
	// the last, and after Heal, it succeeds at once.
	Acts []Act
}

// Act is what the handler does at one attempt.
type Act struct {
	Verb  Verb
	Takes time.Duration
	// Set if it returns when its context ends.
	Heeds bool
	// RetryAfter is the argument of the verb of that name, and of Abort.
	RetryAfter time.Duration
}

// Verb is how a handler ends.
type Verb string

// What handlers do. Late succeeds when its context ends.
const (
	OK             Verb = "ok"
	Fail           Verb = "fail"
	Late           Verb = "late"
	Permanent      Verb = "permanent"
	RetryAfter     Verb = "retry-after"
	PermanentAfter Verb = "permanent+retry-after"
	Abort          Verb = "abort"
	AbortAfter     Verb = "abort+retry-after" // joined with a longer one, which does not count
	Panic          Verb = "panic"
	PanicError     Verb = "panic-error"
	NilError       Verb = "nil-error" // a nil pointer as an error, whose methods panic
	Goexit         Verb = "goexit"
	Expired        Verb = "expired" // nobody waits for the result any more
)

// Kill ends the environment of one invocation.
type Kill struct {
	Invocation int // counted over the whole history, from 0
	How        Ending
	After      time.Duration // of Crash and Freeze, from the invocation's begin
	// Of BeforeCall and AfterCall: the call to SQS in this invocation, from 0; with an
	// operation, its call of that in this invocation or a later one.
	Call      int
	Operation string
}

// Ending is how an environment or a process that polls ends.
type Ending string

const (
	Crash      Ending = "crash"       // the process ends
	BeforeCall Ending = "before-call" // it ends instead of a call to SQS
	AfterCall  Ending = "after-call"  // it ends when SQS has answered, before it sees that

	// On Lambda:
	Freeze     Ending = "freeze"      // it stands still until Lambda's timeout
	AtResponse Ending = "at-response" // it ends before its response is received

	// While it polls:
	Shutdown Ending = "shutdown" // Poller.Shutdown
	Canceled Ending = "context"  // the context of Poller.Run ends
	Hurried  Ending = "hurried"  // Poller.Shutdown with a context that ends
)

// inCall reports whether it strikes a call to SQS.
func (e Ending) inCall() bool { return e == BeforeCall || e == AfterCall }

// faulty reports whether calls to SQS go wrong.
func (p Plan) faulty() bool { return len(p.Faults)+len(p.Breaks) > 0 }

func (a Act) String() string {
	text := string(a.Verb)
	if a.RetryAfter > 0 || a.Verb == RetryAfter || a.Verb == Abort {
		text += fmt.Sprintf("(%v)", a.RetryAfter)
	}
	if a.Takes > 0 {
		text += fmt.Sprintf(" after %v", a.Takes)
		if a.Heeds {
			text += " or its deadline"
		}
	}
	return text
}

// String prints the plan a line for each part, leaving out what is zero.
func (p Plan) String() string {
	var b strings.Builder
	plan := reflect.ValueOf(p)
	for i := range plan.NumField() {
		name, part := plan.Type().Field(i).Name, plan.Field(i)
		switch {
		case part.IsZero():
		case part.Kind() == reflect.Slice:
			for k := range part.Len() {
				fmt.Fprintf(&b, "%-11s %d: %s\n", name, k, fields(part.Index(k)))
			}
		default:
			fmt.Fprintf(&b, "%-11s %v\n", name, part)
		}
	}
	return b.String()
}

func (l Life) String() string { return "{" + fields(reflect.ValueOf(l)) + "}" }

// reaches reports whether a function's own dead-letter queue takes the records of a queue.
func (p *Plan) reaches(own string, q Queue) bool {
	name := strings.TrimPrefix(own, "arn:")
	return name != "" && name != "no-such-queue" && name != q.Name
}

// deadLetterQueues are all that there are, each once.
func (p *Plan) deadLetterQueues() (names []string) {
	for _, q := range p.Queues {
		names = append(names, q.DeadLetters)
	}
	for _, f := range p.Functions {
		names = append(names, strings.TrimPrefix(f.DeadLetterQueue, "arn:"))
	}
	seen := map[string]bool{"": true, "no-such-queue": true}
	for _, q := range p.Queues {
		seen[q.Name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}

// Replica is a place for one process at a time, as an orchestrator keeps it,
// that polls a queue as a container does. What its handler does, its backoff, dead
// letters and limits are those of the queue's [Function]; of the function's
// other fields Timeout is only the scale of the times in the plan.
type Replica struct {
	Queue  int
	ByName bool // the poller is given the queue's name, not its URL
	Starts time.Duration

	// What follows is longpoll.Config's.
	Wait         time.Duration
	Prefetch     int
	Visibility   time.Duration
	DrainLimit   time.Duration
	MaxAbandoned int

	// Lives are its processes, one after another; a last one follows that lives until the history is over.
	Lives []Life
}

// Life is how a process ends, and what is asked of it before.
type Life struct {
	Lasts time.Duration // until its end, whatever How
	How   Ending
	// Of BeforeCall and AfterCall: the process's call to SQS, from 0, of the operation
	// if there is one; the process dies at Lasts at the latest.
	Call      int
	Operation string
	// Patience is when the context of a Hurried shutdown ends.
	Patience time.Duration
	// Overlaps tells that the next process starts before this one has stopped.
	Overlaps bool
	Pauses   []Pause
}

// Pause is one call of Poller.Pause, and the call of Resume that follows.
type Pause struct{ At, For time.Duration }

// Polls tells which mode the plan is for: long poll, or Lambda.
func (p Plan) Polls() bool { return len(p.Replicas) > 0 }

// fields prints a struct's fields that are not zero: "Name=orders BatchSize=10".
func fields(value reflect.Value) string {
	var parts []string
	for i := range value.NumField() {
		name, field := value.Type().Field(i).Name, value.Field(i)
		switch {
		case field.IsZero():
		case field.Kind() == reflect.Bool:
			parts = append(parts, name)
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", name, field))
		}
	}
	return strings.Join(parts, " ")
}

// body is the message's text, different for each. It holds what is easily
// changed on the way: escapes, spaces, characters that JSON encoders escape,
// and others that take several bytes.
func (m Message) body() string {
	text := fmt.Sprintf(`{ "n":%d, "note":"\u0041\/ <&> \u2028 é 😀 \\ \"" }`, m.Number)
	if m.Malformed {
		return text[:len(text)-3] // the string does not end
	}
	return text + "\n"
}

// attributes are the message's own: strings, numbers and bytes in turn.
func (m Message) attributes() map[string]types.MessageAttributeValue {
	if m.Attributes == 0 {
		return nil
	}
	list := make(map[string]types.MessageAttributeValue, m.Attributes)
	for i := range m.Attributes {
		name := "attribute-" + strconv.Itoa(i)
		switch i % 3 {
		case 0:
			list[name] = types.MessageAttributeValue{DataType: aws.String("String.note"), StringValue: aws.String("<é> \" " + strconv.Itoa(m.Number))}
		case 1:
			list[name] = types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String("1.50")}
		default:
			list[name] = types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte{0, 0xff, byte(m.Number)}}
		}
	}
	return list
}

// trace is the message's X-Ray header; "" for none.
func (m Message) trace() string {
	if !m.Trace {
		return ""
	}
	return fmt.Sprintf("Root=1-5759e988-%024x;Sampled=1", m.Number)
}

// plain makes attributes comparable.
func plain(attributes map[string]types.MessageAttributeValue) map[string]string {
	list := make(map[string]string, len(attributes))
	for name, a := range attributes {
		list[name] = aws.ToString(a.DataType) + " " + aws.ToString(a.StringValue) + string(a.BinaryValue)
	}
	return list
}

func (m Message) entry(id int, fifo bool) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id:                aws.String(strconv.Itoa(id)),
		MessageBody:       aws.String(m.body()),
		MessageAttributes: m.attributes(),
		DelaySeconds:      int32(m.Delay.Seconds()),
	}
	if header := m.trace(); header != "" {
		e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {DataType: aws.String("String"), StringValue: &header},
		}
	}
	if m.Group != "" {
		e.MessageGroupId = &m.Group
	}
	if fifo {
		e.MessageDeduplicationId = aws.String("dedup-" + strconv.Itoa(m.Number))
	}
	return e
}

// dead is a message as it was found in a dead-letter queue.
func dead(queue string, m sqs.MessageSnapshot) DeadMessage {
	d := DeadMessage{Queue: queue, Body: m.Body, Group: m.MessageGroupID, Trace: m.TraceHeader, Attributes: map[string]string{}}
	for name, a := range m.Attributes {
		d.Attributes[name] = a.DataType + " " + a.String + string(a.Binary)
	}
	if o, err := partialfailure.ParseOrigin(m.Attributes[partialfailure.OriginAttribute].String); err == nil {
		d.Origin = o.MessageID
	}
	delete(d.Attributes, partialfailure.OriginAttribute)
	return d
}
