package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// A builder makes the template of a queue.
type builder struct {
	*account
	queue   *queue.Queue
	list    []*source.Resource
	made    map[string]*source.Resource // by what names it: an ARN
	set     map[string]setter           // by the address
	unknown []rules.Unknown
	refused []error // of calls
}

// A setter says how to give a property of a resource a value.
type setter func(property string, value any) string

func newBuilder(a *account, q *queue.Queue) *builder {
	return &builder{account: a, queue: q, made: map[string]*source.Resource{}, set: map[string]setter{}}
}

// make adds a resource to the template. text is what messages call it, and address what places do.
func (b *builder) make(kind, key, text, address string) *source.Resource {
	r := &source.Resource{ID: fmt.Sprintf("Deployed%dOf", len(b.list)), Name: text, Address: address, Type: kind, Deep: true}
	b.list = append(b.list, r)
	if key != "" {
		b.made[key] = r
	}
	return r
}

// Rules by what they need besides the queue itself.
var (
	ofMapping = slices.Concat(ids(rules.Mappings), ids(rules.Functions), ids(rules.Roles),
		[]string{"SB120", "SB201", "SB207", "SB215", "SB216", "SB501", "SB502", "SB503"})
	ofFunction    = slices.Concat(ids(rules.Functions), ids(rules.Roles), []string{"SB101", "SB105", "SB106", "SB111", "SB207", "SB501"})
	ofDeadMapping = []string{"SB206", "SB503"}
	ofDead        = []string{"SB203", "SB204", "SB205", "SB503"}
	ofSources     = []string{"SB201", "SB204", "SB205", "SB215", "SB503"}
	ofAccount     = []string{"SB120", "SB201", "SB215", "SB216", "SB501", "SB502", "SB503"}
	ofAlarms      = ids(rules.Alarms)
	ofWatching    = []string{"SB502", "SB503"}
	ofSenders     = []string{"SB306"}
)

func ids[T any](table []rules.Rule[T]) (list []string) {
	for _, r := range table {
		list = append(list, r.ID)
	}
	return list
}

// unread is a value that could not be read. The rules that need it say why.
func (b *builder) unread(err error) source.Func {
	b.refused = append(b.refused, err)
	return source.Unknown(err.Error())
}

// failed notes rules that are not known to be right, since something could not be read.
func (b *builder) failed(at *source.Resource, err error, needed []string) {
	b.refused = append(b.refused, err)
	list := slices.Clone(needed)
	slices.Sort(list)
	b.unknown = append(b.unknown, rules.Unknown{Resource: at.Address, Rules: slices.Compact(list), Message: err.Error()})
}

// read reads what belongs to the queue.
func (b *builder) read(ctx context.Context) {
	q := b.addQueue(b.queue)
	if own, caller := b.where().Account, b.caller(ctx); caller != "" && caller != own {
		b.failed(q, fmt.Errorf("the queue is in account %s, and the credentials are for account %s: mappings and alarms of the other account are not known", own, caller), ofAccount)
	}
	var dead *source.Resource
	if arn := b.queue.DeadLetterQueue; arn != "" && arn != b.queue.ARN {
		found, err := b.open(ctx, arn, false)
		if err != nil {
			b.failed(q, err, ofDead)
		} else {
			dead = b.addQueue(found)
		}
	}
	b.sources(ctx, q)
	b.mappings(ctx, q, b.queue.ARN, ofMapping)
	if dead != nil {
		b.mappings(ctx, dead, b.queue.DeadLetterQueue, ofDeadMapping)
	}
	b.alarms(ctx, q)
	b.key(ctx, q)
}

// plain are attributes of queues that are properties of their names.
var plain = []string{
	"VisibilityTimeout", "MessageRetentionPeriod", "DelaySeconds", "ReceiveMessageWaitTimeSeconds", "MaximumMessageSize",
	"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit",
	"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled",
}

// always are attributes that each queue has. An emulator may leave one out, and its default is not
// known to be SQS's.
var always = []string{"VisibilityTimeout", "MessageRetentionPeriod", "DelaySeconds", "ReceiveMessageWaitTimeSeconds"}

// addQueue adds a queue with its policy.
func (b *builder) addQueue(q *queue.Queue) *source.Resource {
	name := q.Name()
	r := b.make(template.SQSQueue, q.ARN, name, name)
	r.Set("QueueName", name, "")
	for _, attribute := range plain {
		if v := q.Attributes[attribute]; v != "" {
			r.Set(attribute, v, attribute)
		} else if slices.Contains(always, attribute) {
			r.Set(attribute, source.Unknown("the server does not say"), attribute)
		}
	}
	for _, attribute := range []string{"RedrivePolicy", "RedriveAllowPolicy"} {
		r.Set(attribute, document(q.Attributes[attribute]), attribute)
	}
	b.set[name] = func(property string, value any) string {
		return b.command("sqs", "set-queue-attributes", "--queue-url", q.URL, "--attributes", attributes(q, property, value))
	}
	if text := q.Attributes["Policy"]; text != "" {
		p := b.make("AWS::SQS::QueuePolicy", "", "of queue "+name, name)
		p.Deep = false
		p.Set("Queues", []any{source.GetAtt(r.ID, "")}, "Policy")
		p.Set("PolicyDocument", document(text), "Policy")
	}
	return r
}

// attributes is the argument that gives a queue an attribute.
func attributes(q *queue.Queue, property string, value any) string {
	if property != "maxReceiveCount" {
		return fmt.Sprintf("%s=%v", property, value)
	}
	var policy map[string]any
	if json.Unmarshal([]byte(q.Attributes["RedrivePolicy"]), &policy) != nil {
		policy = map[string]any{"deadLetterTargetArn": q.DeadLetterQueue}
	}
	policy[property] = fmt.Sprint(value)
	inner, _ := json.Marshal(policy) // maps of strings
	outer, _ := json.Marshal(map[string]string{"RedrivePolicy": string(inner)})
	return string(outer)
}

// document is JSON in a text, nil for none.
func document(text string) any {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return source.Unknown("it is not JSON")
	}
	return v
}

// sources adds the queues whose dead-letter queue q is.
func (b *builder) sources(ctx context.Context, q *source.Resource) {
	b.calls.Add(1)
	urls, err := b.queue.Sources(ctx, queue.Opening)
	for _, url := range urls {
		var from *queue.Queue
		if from, err = b.queues.get(path(url), func() (*queue.Queue, error) {
			b.calls.Add(1)
			return b.queue.OpenURL(ctx, url, queue.Opening)
		}); err != nil {
			break
		}
		if b.made[from.ARN] == nil {
			b.addQueue(from).Context = true
		}
	}
	if err != nil {
		b.failed(q, err, ofSources)
	}
}

// where are the region and the account of the queue.
func (b *builder) where() endpoint.ARN {
	arn, _ := endpoint.ParseARN(b.queue.ARN) // it was opened
	return arn
}

// phrases are what texts say of an account.
var phrases = strings.NewReplacer(" of this template", "", " in the template", " read", " of the template", " that was read", " outside of the template", " that was not read")

// write writes the template.
func (b *builder) write() (*source.Source, error) {
	at := b.where()
	s, err := source.Write(template.Options{Region: at.Region, AccountID: at.Account}, b.list)
	if err != nil {
		return nil, fmt.Errorf("%s: its settings cannot be read: %w", b.queue.ARN, err)
	}
	s.Phrases = phrases
	s.Setting = func(at source.Place, property string, value any) string {
		if set := b.set[at.Address]; set != nil {
			return set(property, value)
		}
		return fmt.Sprintf("set %s to %v", property, value)
	}
	return s, nil
}

// command writes a command of the AWS CLI that a shell can run.
func (b *builder) command(service, operation string, args ...string) string {
	args = append([]string{"aws", service, operation}, args...)
	args = append(args, "--region", b.where().Region)
	if b.settings.Profile != "" {
		args = append(args, "--profile", b.settings.Profile)
	}
	if b.settings.Endpoint != "" {
		args = append(args, "--endpoint-url", b.settings.Endpoint)
	}
	for i, arg := range args {
		args[i] = show.Quote(arg)
	}
	return strings.Join(args, " ")
}

// local is a queue's ARN as the template has it: another region or account may have one of the name.
func (b *builder) local(arn string) any {
	at, err := endpoint.ParseARN(arn)
	if here := b.where(); err == nil && (at.Region != here.Region || at.Account != here.Account) {
		return source.Unknown(batch.QueueName(arn) + " is in another region or account")
	}
	return arn
}

// whole is a whole number, or the text of another one.
func whole(text string) any {
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) {
		return int64(f)
	}
	if text == "" {
		return nil
	}
	return text
}
