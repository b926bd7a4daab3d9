package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Options says what the template alone does not. The zero value is good for a
// template with one SQS function whose parameters have defaults.
type Options struct {
	// Function is the function's logical id or FunctionName. Defaults to the only
	// one with an SQS event; with several, Resolve returns a [*ChoiceError].
	Function string
	// Queue is the logical id or the name of the queue whose event is meant,
	// for a function with several SQS events. Defaults to the first event.
	Queue string
	// AllEvents takes all of the function's SQS events, unless Queue names one.
	AllEvents bool
	// Parameters override the defaults of the template's parameters.
	Parameters map[string]string
	// Environment has variables that functions have in addition to those of the template, or
	// in place of them.
	Environment map[string]string
	// EveryContainer says that all containers poll, not only those with a variable of the toolkit.
	EveryContainer bool
	// Endpoint is what queue URLs begin with. Defaults to "https://sqs.<Region>.amazonaws.com".
	Endpoint  string
	Region    string // AWS::Region. Defaults to "us-east-1"
	AccountID string // AWS::AccountId. Defaults to "000000000000"
}

// A Mapping is an event source mapping from an SQS queue to a function.
type Mapping struct {
	Function Function // without a LogicalID if it is not in the template
	Event    Event
	// Queue has no LogicalID if it is not in the template, and in a Survey no ARN if it is not
	// known.
	Queue Queue
}

// A Deployment is what a template deploys for one function.
type Deployment struct {
	// Mapping is the one that runs. Its Queue is also in Queues.
	Mapping
	More []Mapping // the function's other mappings, if Options.AllEvents asks for them
	// Queues are the queues of the template, and those that it refers to by a
	// literal ARN, each after the dead-letter queue that it needs.
	Queues []Queue
	// Findings say what was left out or assumed.
	Findings []Finding
}

// Mappings are Mapping and More.
func (d *Deployment) Mappings() []Mapping { return append([]Mapping{d.Mapping}, d.More...) }

// A Function is an AWS::Serverless::Function or AWS::Lambda::Function.
type Function struct {
	Resource  Resource // where the rest was read
	LogicalID string
	Name      string        // FunctionName, or the logical id where there is none
	CodeDir   string        // the directory that CodeUri names, "" when it names none
	Timeout   time.Duration // defaults to 3 s, as on Lambda
	// ManagedInstances says that the function has a CapacityProviderConfig, with
	// which it runs on Lambda Managed Instances: Timeout may be up to 5,400 s.
	ManagedInstances    bool
	MemoryMB            int               // defaults to 128, as on Lambda
	Environment         map[string]string // the variables of Globals and of the function
	LogLevel            string            // LoggingConfig's ApplicationLogLevel, or ""
	ReservedConcurrency *int              // ReservedConcurrentExecutions, nil for none
}

// An Event is an event of type SQS, or an AWS::Lambda::EventSourceMapping. Its
// values are as written; Lambda's bounds are not checked here.
type Event struct {
	Name                    string        // the event's name below Events, or the mapping's logical id
	Pos                     Pos           // where the name stands
	Properties              Value         // where the rest was read
	QueueARN                string        // the queue's ARN in Options' region and account
	BatchSize               int           // defaults to 10
	Window                  time.Duration // MaximumBatchingWindowInSeconds
	ReportBatchItemFailures bool          // whether FunctionResponseTypes lists it
	MaximumConcurrency      int           // ScalingConfig's, and 0 when not set
	Filters                 []Filter      // those of FilterCriteria, in order
	Enabled                 bool          // defaults to true
}

// A Queue is an AWS::SQS::Queue.
type Queue struct {
	Resource  Resource // where the rest was read. It is zero without a LogicalID
	LogicalID string   // "" for a queue that the template knows by its ARN only
	// Name is QueueName, and the logical id where the template leaves the name
	// to CloudFormation (with ".fifo" when it is a FIFO queue).
	Name string
	ARN  string // the queue's ARN in Options' region and account
	URL  string // the queue's URL below Options.Endpoint
	FIFO bool   // whether the queue is a FIFO queue
	// Attributes are in the form of SQS' CreateQueue, RedrivePolicy and RedriveAllowPolicy
	// included as JSON. What only AWS can honour (encryption, tags) is not there.
	Attributes      map[string]string
	DeadLetterARN   string // RedrivePolicy's deadLetterTargetArn, or ""
	MaxReceiveCount int    // RedrivePolicy's, or 0
}

// A ChoiceError is returned by [Template.Resolve] when the template has no function with an SQS
// event, when it has several and none was chosen, or when the chosen one is not among them.
type ChoiceError struct {
	Path       string   // the template's file name, or ""
	Asked      string   // Options.Function
	Candidates []string // the logical ids of the functions with an SQS event
}

// Error says what there is to choose from.
func (e *ChoiceError) Error() string {
	path := cmp.Or(e.Path, "the template")
	switch {
	case len(e.Candidates) == 0:
		return path + " has no function with an event of type SQS"
	case e.Asked == "":
		return fmt.Sprintf("%s has several functions with an SQS event: %s", path, strings.Join(e.Candidates, ", "))
	default:
		return fmt.Sprintf("%s has no function %s with an SQS event; it has %s", path, e.Asked, strings.Join(e.Candidates, ", "))
	}
}

// Resolve evaluates what the template says about one function. The error is a
// [*ChoiceError], or names the file, the line and what cannot be known.
func (t *Template) Resolve(o Options) (*Deployment, error) {
	st, err := t.Stack(o)
	if err != nil {
		return nil, err
	}
	d := &Deployment{}
	chosen, err := st.choose(d)
	if err != nil {
		return nil, err
	}
	return d, st.deploy(d, chosen)
}

// deploy fills in d for one function's mappings.
func (st *Stack) deploy(d *Deployment, chosen []source) error {
	if err := st.function(d, chosen[0].function); err != nil {
		return err
	}
	for i, s := range chosen {
		event, err := st.event(s)
		if err != nil {
			return err
		}
		if i == 0 {
			d.Event = event
		} else {
			d.More = append(d.More, Mapping{d.Function, event, Queue{}})
		}
		if !event.Enabled {
			d.found(event.Pos, "event %s is disabled in the template; it is enabled here", event.Name)
		}
	}
	return st.queues(d)
}

// choose finds the mappings that the options mean: one, or with AllEvents all.
func (st *Stack) choose(d *Deployment) ([]source, error) {
	all, err := st.sources()
	if err != nil {
		return nil, err
	}
	choice := &ChoiceError{Path: st.Path, Asked: st.o.Function}
	var mine []source
	for _, s := range all {
		name, err := s.function.functionName()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(choice.Candidates, s.function.ID) {
			choice.Candidates = append(choice.Candidates, s.function.ID)
		}
		if st.o.Function == "" || st.o.Function == s.function.ID || st.o.Function == name {
			mine = append(mine, s)
		}
	}
	switch {
	case len(mine) == 0 || st.o.Function == "" && len(choice.Candidates) > 1:
		return nil, choice
	case st.o.Queue != "":
		return st.chooseQueue(mine)
	case st.o.AllEvents:
		return mine, nil
	}
	if len(mine) > 1 {
		d.found(mine[0].pos, "%s has %d SQS events; this is %s (choose another by its queue: --queue NAME)",
			mine[0].function.ID, len(mine), mine[0].name)
	}
	return mine[:1], nil
}

// chooseQueue picks one of a function's mappings by its queue.
func (st *Stack) chooseQueue(mine []source) ([]source, error) {
	want := st.o.Queue
	if r, ok := st.Resource(want); ok && r.Type == SQSQueue {
		var err error
		if want, err = r.queueName(); err != nil {
			return nil, err
		}
	}
	var names []string
	for i, s := range mine {
		event, err := st.event(s)
		if err != nil {
			return nil, err
		}
		name := batch.QueueName(event.QueueARN)
		if name == want {
			return mine[i : i+1], nil
		}
		names = append(names, name)
	}
	return nil, st.errorf(nil, "%s has no event on a queue %s; its queues are %s",
		mine[0].function.ID, st.o.Queue, strings.Join(names, ", "))
}
