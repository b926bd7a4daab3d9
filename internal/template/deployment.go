package template

import (
	"cmp"
	"time"
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
	// Endpoint is what queue URLs begin with. Defaults to
	// "https://sqs.<Region>.amazonaws.com".
	Endpoint string
	// Region is AWS::Region. Defaults to "us-east-1".
	Region string
	// AccountID is AWS::AccountId. Defaults to "000000000000".
	AccountID string
	// StackName is AWS::StackName. Defaults to "local".
	StackName string
}

func (o Options) withDefaults() Options {
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.AccountID = cmp.Or(o.AccountID, "000000000000")
	o.StackName = cmp.Or(o.StackName, "local")
	o.Endpoint = cmp.Or(o.Endpoint, "https://sqs."+o.Region+".amazonaws.com")
	return o
}

// A Deployment is what a template deploys for one function.
type Deployment struct {
	Function Function
	// Event is the event source mapping between Source and Function.
	Event Event
	// Source is the queue that the event polls. It is also in Queues.
	Source Queue
	// More are the function's other SQS events, if Options.AllEvents asks for them.
	More []Mapping
	// Queues are the queues of the template, and those that it refers to by a
	// literal ARN, each after the dead-letter queue that it needs.
	Queues []Queue
	// Findings say what was left out or assumed.
	Findings []Finding
}

// Mappings are Event with Source, and More.
func (d *Deployment) Mappings() []Mapping { return append([]Mapping{{d.Event, d.Source}}, d.More...) }

// A Function is an AWS::Serverless::Function or AWS::Lambda::Function.
type Function struct {
	// Resource is where the rest was read.
	Resource  Resource
	LogicalID string
	// Name is FunctionName, or the logical id where there is none.
	Name string
	// CodeDir is the directory that CodeUri names, "" when it names none.
	CodeDir string
	// Timeout defaults to 3 s, as on Lambda.
	Timeout time.Duration
	// ManagedInstances says that the function has a CapacityProviderConfig, with
	// which it runs on Lambda Managed Instances: Timeout may be up to 5,400 s.
	ManagedInstances bool
	// MemoryMB defaults to 128, as on Lambda.
	MemoryMB int
	// Environment holds the variables of Globals and of the function.
	Environment map[string]string
	// LogLevel is LoggingConfig's ApplicationLogLevel, or "".
	LogLevel string
	// ReservedConcurrency is ReservedConcurrentExecutions, nil for none.
	ReservedConcurrency *int
}

// An Event is an event of type SQS, or an AWS::Lambda::EventSourceMapping. Its
// values are as written; Lambda's bounds are not checked here.
type Event struct {
	// Name is the event's name below Events, or the mapping's logical id.
	Name string
	// Pos is where the name stands.
	Pos Pos
	// Properties is where the rest was read.
	Properties Value
	// QueueARN is the queue's ARN in Options' region and account.
	QueueARN string
	// BatchSize defaults to 10.
	BatchSize int
	// Window is MaximumBatchingWindowInSeconds.
	Window time.Duration
	// ReportBatchItemFailures says whether FunctionResponseTypes lists it.
	ReportBatchItemFailures bool
	// MaximumConcurrency is ScalingConfig's, and 0 when not set.
	MaximumConcurrency int
	// Filters are those of FilterCriteria, in order.
	Filters []Filter
	// Enabled defaults to true.
	Enabled bool
}

// A Mapping is an event with the queue that it polls.
type Mapping struct {
	Event Event
	Queue Queue
}

// A Queue is an AWS::SQS::Queue.
type Queue struct {
	// Resource is where the rest was read. It is zero without a LogicalID.
	Resource Resource
	// LogicalID is "" for a queue that the template knows by its ARN only.
	LogicalID string
	// Name is QueueName, and the logical id where the template leaves the name
	// to CloudFormation (with ".fifo" when it is a FIFO queue).
	Name string
	// ARN is the queue's ARN in Options' region and account.
	ARN string
	// URL is the queue's URL below Options.Endpoint.
	URL string
	// FIFO says whether the queue is a FIFO queue.
	FIFO bool
	// Attributes are in the form of SQS' CreateQueue, RedrivePolicy and
	// RedriveAllowPolicy included as JSON. What only AWS can honour
	// (encryption, tags) is not there.
	Attributes map[string]string
	// DeadLetterARN is RedrivePolicy's deadLetterTargetArn, or "".
	DeadLetterARN string
	// MaxReceiveCount is RedrivePolicy's, or 0.
	MaxReceiveCount int
}
