package simulate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Plan is all of a history that is decided before it begins. It is plain data:
// the same seed gives the same plan.
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
	// Replicas are what polls the queues in the long-poll mode. Without any,
	// event source mappings invoke the functions.
	Replicas []Replica
	// Heal is when the faults end and every handler succeeds from then on.
	Heal time.Duration
}

// Queue is a queue with its event source mapping.
type Queue struct {
	Name       string // ends in .fifo on FIFO queues
	Visibility time.Duration
	// MaxReceive is the RedrivePolicy's maxReceiveCount, and DeadLetters the
	// queue that it names; 0 and "" without a policy.
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
	// PerEnvironment is how many invocations an environment runs at a time
	// (AWS_LAMBDA_MAX_CONCURRENCY).
	PerEnvironment int
	JSON           bool // the user's function is wrapped in batch.JSON
	Bulk           int  // it writes so many records at once, by package bulk; 0 if it handles one

	// What follows is handler.Config's.
	Concurrency     int
	MaxHandlers     int
	Reserve         time.Duration
	RecordTimeout   time.Duration
	Deadline        string // "", whole, fair
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
	if f.Concurrency == 0 && f.Bulk == 0 && f.MaxHandlers > 0 {
		return f.MaxHandlers
	}
	return cmp.Or(f.Concurrency, 10)
}

// slowStart reports whether records may begin when a hook lets them, not when they could.
func (f Function) slowStart() bool {
	return f.SlowHook == "RecordStarted" || f.SlowHook == "BatchStarted"
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
	How        KillKind
	After      time.Duration // of Crash and Freeze, from the invocation's begin
	// Of BeforeCall and AfterCall: the call to SQS in this invocation, from 0; with an
	// operation, its call of that in this invocation or a later one.
	Call      int
	Operation string
}

// KillKind is how an environment ends.
type KillKind string

const (
	Crash      KillKind = "crash"       // the process ends
	Freeze     KillKind = "freeze"      // it stands still until Lambda's timeout
	BeforeCall KillKind = "before-call" // it ends instead of a call to SQS
	AfterCall  KillKind = "after-call"  // it ends when SQS has answered, before it sees that
	AtResponse KillKind = "at-response" // it ends before its response is received
)

// inCall reports whether it strikes a call to SQS.
func (k KillKind) inCall() bool { return k == BeforeCall || k == AfterCall }

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
	for _, q := range p.Queues {
		fmt.Fprintf(&b, "queue     %s\n", fields(q))
	}
	for i, f := range p.Functions {
		fmt.Fprintf(&b, "function  %d: %s\n", i, fields(f))
	}
	for _, m := range p.Messages {
		fmt.Fprintf(&b, "message   %s\n", fields(m))
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "fault     %s\n", fields(f))
	}
	for _, k := range p.Breaks {
		fmt.Fprintf(&b, "break     %s\n", fields(k))
	}
	for _, f := range p.StoreFaults {
		fmt.Fprintf(&b, "store     %s\n", fields(f))
	}
	if p.StoreTakes > 0 {
		fmt.Fprintf(&b, "store     takes %v\n", p.StoreTakes)
	}
	for _, k := range p.Kills {
		fmt.Fprintf(&b, "kill      %s\n", fields(k))
	}
	for i, r := range p.Replicas {
		lives := r.Lives
		r.Lives = nil
		fmt.Fprintf(&b, "replica   %d: %s\n", i, fields(r))
		for _, l := range lives {
			fmt.Fprintf(&b, "  process %s\n", fields(l))
		}
	}
	fmt.Fprintf(&b, "heal      at %v\n", p.Heal)
	return b.String()
}
