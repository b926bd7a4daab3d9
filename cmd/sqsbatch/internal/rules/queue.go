package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// A Source is a queue of the template, with what refers to it.
type Source struct {
	template.Queue
	dead       *template.Queue // its dead-letter queue, nil if that is not in the template
	deadOf     []string        // names of the queues whose dead-letter queue it is
	mappings   []Mapping       // of those that poll it
	containers []Container     // that poll it
	failures   bool            // it gets what failed elsewhere, as a dead-letter queue does
	piped      bool            // something else of the template may poll it
	pipe       bool            // a pipe surely polls it
	policies   *queuePolicies
	deliveries []delivery // to it
	region     string     // the stack's, "" if it is not known
	account    string     // the stack's, "" if it is not known
	alarms     *alarms
}

// title is how messages call a queue: by its logical id, since its name may depend on the name of
// the stack, which is not in the file.
func title(q template.Queue) string { return cmp.Or(q.LogicalID, q.Name) }

// redriven reports whether the queue has a dead-letter queue, known or not.
func (s Source) redriven() bool { return !s.Resource.Get("RedrivePolicy").Absent() }

// sourcesOf returns the queues by ARN.
func sourcesOf(queues []template.Queue, mappings []Mapping) map[string]*Source {
	sources := map[string]*Source{}
	for _, q := range queues {
		sources[q.ARN] = &Source{Queue: q}
	}
	for _, q := range queues {
		s := sources[q.ARN]
		if dead := sources[s.DeadLetterARN]; dead != nil {
			s.dead = &dead.Queue
			dead.deadOf = append(dead.deadOf, title(s.Queue))
		}
	}
	for _, m := range mappings {
		if s := sources[m.Queue.ARN]; s != nil {
			s.mappings = append(s.mappings, m)
		}
	}
	return sources
}

// Pages of AWS's documentation.
const (
	deadPage       = "Using dead-letter queues in Amazon SQS"
	visibilityPage = "Amazon SQS visibility timeout"
	fifoPage       = "High throughput for FIFO queues in Amazon SQS"
	delayPage      = "Amazon SQS delay queues"
	pollingPage    = "Amazon SQS short and long polling"
	encryptionPage = "Encryption at rest in Amazon SQS"
)

// Queues are the rules of a queue.
var Queues = []Rule[Source]{
	{
		Info: Info{ID: "SB201", Severity: Warning, Page: deadPage,
			Title: "The queue has no dead-letter queue",
			Why:   "A record that fails every time is retried until its retention ends. Then it is gone. Mappings, containers and pipes of EventBridge count as consumers."},
		check: func(s Source, r *reporter) {
			if (s.polled() || s.pipe) && !s.failures && r.known(s.Resource.Get("RedrivePolicy")) && !s.redriven() {
				r.report(s.Resource.Pos, "queue %s has no dead-letter queue; give it a RedrivePolicy", title(s.Queue))
			}
		},
	},
	{
		Info: Info{ID: "SB202", Severity: Warning, Page: mappingPage,
			Title: "maxReceiveCount is below 5",
			Why:   "An invocation that is throttled takes a receive from its records, so that records reach the dead-letter queue that no handler has failed on. With 1 a record is not retried at all."},
		check: func(s Source, r *reporter) {
			v := s.Resource.Get("RedrivePolicy", "maxReceiveCount")
			if _, document := s.Resource.Get("RedrivePolicy").Str(); document != nil && !r.known(v) {
				return
			}
			if n := s.MaxReceiveCount; n > 0 && n < settle.AdvisedReceives {
				f := r.report(v.Pos, "queue %s has a maxReceiveCount of %d; AWS recommends at least %d", title(s.Queue), n, settle.AdvisedReceives)
				f.Fix = setting(s.Resource.Get("RedrivePolicy"), "maxReceiveCount", settle.AdvisedReceives)
				if n == 1 {
					f.Message = fmt.Sprintf("queue %s has a maxReceiveCount of 1, so that one failure or one throttled invocation makes a dead letter; AWS recommends at least %d", title(s.Queue), settle.AdvisedReceives)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB203", Severity: Error, Page: deadPage,
			Title: "The dead-letter queue is of the other type, or in another region or account",
			Why:   "SQS refuses the RedrivePolicy: both must be FIFO queues or standard queues, in one region and one account."},
		check: otherKind,
	},
	{
		Info: Info{ID: "SB204", Severity: Warning, Page: deadPage,
			Title: "The dead-letter queue keeps messages no longer than the queue does",
			Why:   "On a standard queue a dead letter's age counts from when it was first sent, so it may expire on arrival. A dead-letter queue with 14 days, the most that SQS takes, is no finding."},
		check: func(s Source, r *reporter) {
			if s.dead == nil || s.FIFO || s.dead.FIFO || !r.known(s.dead.Resource.Get("MessageRetentionPeriod"), s.Resource.Get("MessageRetentionPeriod"), s.Resource.Get("FifoQueue")) {
				return
			}
			const longest = 1209600 // SQS's limit: with a shorter retention the source would lose messages earlier
			if kept := s.dead.Retention(); kept <= s.Retention() && kept < longest*time.Second {
				r.report(s.dead.Resource.Get("MessageRetentionPeriod").Pos,
					"queue %s keeps dead letters for %d seconds, no longer than messages stay in %s", title(*s.dead), kept/time.Second, title(s.Queue)).
					Fix = property(s.dead.Resource, "MessageRetentionPeriod", longest)
			}
		},
	},
	{
		Info: Info{ID: "SB205", Severity: Error, Page: deadPage,
			Title: "The dead-letter queue does not take the queue's messages",
			Why:   "SQS refuses the RedrivePolicy if the other queue's RedriveAllowPolicy does not name the queue. It names at most 10 queues: for more, use allowAll."},
		check: denied,
	},
	{
		Info: Info{ID: "SB207", Severity: Warning, Page: visibilityPage,
			Title: "Retries take longer than the queue keeps messages, or survive no outage",
			Why:   "A record that keeps failing is retried with backoff until maxReceiveCount. If its retention ends before that, it is gone without a dead letter; if the attempts are over within a minute, any outage makes dead letters."},
		check: budget,
	},
	{
		Info: Info{ID: "SB209", Severity: Note, Page: fifoPage,
			Title: "Only one of two settings for high throughput",
			Why:   "High throughput of a FIFO queue needs DeduplicationScope: messageGroup and FifoThroughputLimit: perMessageGroupId. SQS refuses the second without the first; the first alone gives no throughput."},
		check: throughput,
	},
	{
		Info: Info{ID: "SB214", Severity: Warning, Page: encryptionPage,
			Title: "Encryption is turned off",
			Why:   "SQS encrypts messages at rest by default, at no cost and without a permission. This queue stores them as they are."},
		check: func(s Source, r *reporter) {
			managed, key := s.Resource.Get("SqsManagedSseEnabled"), s.Resource.Get("KmsMasterKeyId")
			if on, err := managed.Bool(true); err == nil && !on && key.Absent() {
				r.report(managed.Pos, "queue %s has SqsManagedSseEnabled: false, and no KmsMasterKeyId", title(s.Queue)).
					Fix = setting(s.Resource.Get(), "SqsManagedSseEnabled", true)
			}
		},
	},
	{
		Info: Info{ID: "SB215", Severity: Note, Page: pollingPage,
			Title: "Pollers of your own may poll with short polls",
			Why:   "A receive without a wait time returns at once, often empty, and each costs a request. Lambda and the toolkit wait 20 seconds; other consumers use the queue's ReceiveMessageWaitTimeSeconds."},
		check: func(s Source, r *reporter) {
			wait := s.Resource.Get("ReceiveMessageWaitTimeSeconds")
			n, err := wait.Int(0)
			if !s.polled() && !s.piped && !s.failures && r.known(wait) && err == nil && n == 0 {
				at := wait.Pos
				if wait.Absent() {
					at = s.Resource.Pos
				}
				r.report(at, "queue %s has no ReceiveMessageWaitTimeSeconds, and no mapping of this template polls it", title(s.Queue)).
					Fix = property(s.Resource, "ReceiveMessageWaitTimeSeconds", 20)
			}
		},
	},
	{
		Info: Info{ID: "SB216", Severity: Note, Page: delayPage,
			Title: "A delay of new messages that is longer than a limit",
			Why:   "DelaySeconds delays new messages, not retries: those wait for the visibility timeout. A delay longer than the retention means that no message is ever received."},
		check: delayed,
	},
	{
		Info: Info{ID: "SB120", Severity: Error, Page: filterPage,
			Title: "Two mappings poll a queue, and one filters",
			Why:   "Each message reaches one of the mappings. If its filter does not match, the mapping deletes the message, and the other mapping never gets it."},
		check: func(s Source, r *reporter) {
			mappings := slices.DeleteFunc(slices.Clone(s.mappings), func(m Mapping) bool { return !m.Event.Enabled })
			if len(mappings) < 2 {
				return
			}
			for _, m := range mappings {
				if v := m.get("FilterCriteria"); r.known(v) && m.filters() > 0 {
					i := slices.IndexFunc(mappings, func(o Mapping) bool { return o.Event.Pos != m.Event.Pos })
					r.report(v.Pos, "events %s and %s poll queue %s: each message goes to one of them, and %s deletes those that its filters do not match. Use a queue for each",
						m.Event.Name, mappings[max(i, 0)].Event.Name, title(s.Queue), m.Event.Name)
				}
			}
		},
	},
}

// otherKind is the check of SB203.
func otherKind(s Source, r *reporter) {
	policy := s.Resource.Get("RedrivePolicy")
	if !s.redriven() {
		return
	}
	target := policy.Get("deadLetterTargetArn")
	if _, err := policy.Str(); err == nil { // JSON in a string
		target = policy
	}
	if !r.known(target, s.Resource.Get("FifoQueue")) {
		return
	}
	if s.DeadLetterARN != "" && s.DeadLetterARN == s.ARN {
		r.report(policy.Pos, "queue %s is its own dead-letter queue", title(s.Queue))
	}
	fifo, other := strings.HasSuffix(s.DeadLetterARN, ".fifo"), batch.QueueName(s.DeadLetterARN)
	if s.dead != nil {
		if !r.known(s.dead.Resource.Get("FifoQueue")) {
			return
		}
		fifo, other = s.dead.FIFO, title(*s.dead)
	}
	if s.DeadLetterARN != "" && fifo != s.FIFO {
		r.report(policy.Pos, "of queue %s and its dead-letter queue %s only one is a FIFO queue", title(s.Queue), other)
	}
	text, err := target.Str()
	arn, bad := endpoint.ParseARN(text)
	if err != nil || bad != nil {
		return
	}
	region, account := s.region, s.account
	if own := s.Resource.Get("Arn"); !own.Absent() { // of Terraform, whose providers have regions and accounts of their own
		text, _ := own.Str()
		at, bad := endpoint.ParseARN(text)
		if bad != nil {
			return
		}
		region, account = at.Region, at.Account
	}
	if region != "" && arn.Region != region || account != "" && arn.Account != account {
		r.report(policy.Pos, "the dead-letter queue of %s is in %s of account %s, and the queue in %s of account %s", title(s.Queue), arn.Region, arn.Account, cmp.Or(region, arn.Region), cmp.Or(account, arn.Account))
	}
}

// denied is the check of SB205.
func denied(s Source, r *reporter) {
	own := s.Resource.Get("RedriveAllowPolicy")
	if list, err := own.Get("sourceQueueArns").List(); err == nil && len(list) > 10 {
		r.report(own.Pos, "the RedriveAllowPolicy of queue %s names %d queues, and SQS takes 10; use allowAll", title(s.Queue), len(list))
	}
	if s.dead == nil || s.dead.LogicalID == "" {
		return
	}
	policy := s.dead.Resource.Get("RedriveAllowPolicy")
	if !r.known(policy, policy.Get("redrivePermission")) {
		return
	}
	allow, says := s.dead.Attributes["RedriveAllowPolicy"], "denies every queue"
	if strings.Contains(allow, "byQueue") {
		if strings.Contains(allow, ":"+s.Name+`"`) { // in any region and account
			return
		}
		name := s.Resource.Get("QueueName")
		if !r.known(policy.Get("sourceQueueArns"), name) {
			return
		}
		if name.Absent() {
			r.unsure(policy.Pos, "whether dead-letter queue %s takes messages of %s is not known: the queue gets its name when the stack is deployed", title(*s.dead), s.LogicalID)
			return
		}
		says = "does not name it"
	} else if !strings.Contains(allow, "denyAll") {
		return
	}
	r.report(policy.Pos, "dead-letter queue %s does not take messages of %s: its RedriveAllowPolicy %s", title(*s.dead), title(s.Queue), says)
}

// throughput is the check of SB209.
func throughput(s Source, r *reporter) {
	scope, limit := s.Resource.Get("DeduplicationScope"), s.Resource.Get("FifoThroughputLimit")
	if !r.known(scope, limit, s.Resource.Get("FifoQueue")) {
		return
	}
	byGroup := s.Attributes["DeduplicationScope"] == "messageGroup"
	perGroup := s.Attributes["FifoThroughputLimit"] == "perMessageGroupId"
	switch {
	case !s.FIFO && (!scope.Absent() || !limit.Absent()):
		v := scope
		if v.Absent() {
			v = limit
		}
		r.report(v.Pos, "queue %s is no FIFO queue, and SQS takes no DeduplicationScope or FifoThroughputLimit there", title(s.Queue)).Severity = Error
	case perGroup && !byGroup:
		f := r.report(limit.Pos, "queue %s has a FifoThroughputLimit of perMessageGroupId without a DeduplicationScope of messageGroup; SQS refuses that", title(s.Queue))
		f.Severity, f.Fix = Error, setting(s.Resource.Get(), "DeduplicationScope", "messageGroup")
	case byGroup && !perGroup:
		r.report(scope.Pos, "queue %s has a DeduplicationScope of messageGroup without a FifoThroughputLimit of perMessageGroupId, so its throughput is not high", title(s.Queue)).
			Fix = setting(s.Resource.Get(), "FifoThroughputLimit", "perMessageGroupId")
	}
}

// delayed is the check of SB216.
func delayed(s Source, r *reporter) {
	v := s.Resource.Get("DelaySeconds")
	delay, ok := r.number(v)
	if !ok || delay == 0 || !r.known(s.Resource.Get("MessageRetentionPeriod"), s.Resource.Get("VisibilityTimeout")) {
		return
	}
	switch d := time.Duration(delay) * time.Second; {
	case d >= s.Retention():
		r.report(v.Pos, "queue %s delays messages by %d seconds and keeps them for %d: none is ever received", title(s.Queue), delay, s.Retention()/time.Second).Severity = Error
	case d > s.Visibility() && len(s.mappings) > 0:
		r.report(v.Pos, "queue %s delays new messages by %d seconds, longer than its VisibilityTimeout of %d. DelaySeconds does not delay retries", title(s.Queue), delay, s.Visibility()/time.Second)
	}
}

// polled reports whether a mapping or a container of the template polls the queue.
func (s Source) polled() bool { return len(s.mappings) > 0 || len(s.containers) > 0 }

// toolkit returns the variables of what surely uses the toolkit and polls the queue: the function
// of the first mapping, or the first container.
func (s *Source) toolkit() (Variables, bool) {
	switch {
	case len(s.mappings) > 0:
		return variablesOf(s.mappings[0].Function), usesToolkit(s.mappings[0].Function)
	case len(s.containers) > 0:
		return s.containers[0].Variables, true
	}
	return Variables{}, false
}

// retried is how long the toolkit retries a record that keeps failing, at most.
func (v Variables) retried(count int) (sum time.Duration) {
	if v.texts[settings.Backoff.Name] == "" {
		return v.duration(settings.Outage) * 3 / 2
	}
	for _, d := range v.waits(count) {
		sum += d
	}
	return sum
}

// knownBackoff reports whether the settings of the backoff are known.
func (v Variables) knownBackoff(r *reporter) bool {
	return v.known(r, settings.Outage, settings.Backoff, settings.BackoffBase, settings.BackoffCap)
}

// waits are the longest times from a failure of a record that keeps failing to its next
// attempt.
func (v Variables) waits(count int) []time.Duration {
	if v.texts[settings.Backoff.Name] == "" {
		return settle.Delays(v.duration(settings.Outage), count)
	}
	base := v.duration(settings.BackoffBase)
	limit := v.duration(settings.BackoffCap)
	var list []time.Duration
	for k := 1; k < count; k++ {
		list = append(list, max(min(base<<min(k-1, 30), limit), time.Second))
	}
	return list
}

// budget is the check of SB207: what retries cost in time, against the queue's retention and
// SQS's 12 hours.
func budget(s Source, r *reporter) {
	if !s.polled() || s.MaxReceiveCount < 2 || s.MaxReceiveCount > 1000 {
		return
	}
	var m Mapping // none of a container, whose records have no time limit that all reach
	if len(s.mappings) > 0 {
		m = s.mappings[0]
	}
	if len(s.mappings) > 0 && m.Function.LogicalID == "" || !r.known(s.Resource.Get("MessageRetentionPeriod"), s.Resource.Get("VisibilityTimeout"), m.Function.Resource.Get("Timeout"), m.Function.Resource.Get("Runtime")) {
		return
	}
	variables, ours := s.toolkit()
	if !variables.knownBackoff(r) {
		return
	}
	list := variables.waits(s.MaxReceiveCount)
	if !ours { // a record comes back when the visibility timeout is over
		list = slices.Repeat([]time.Duration{max(0, s.Visibility()-m.Function.Timeout)}, s.MaxReceiveCount-1)
	}
	var between, longest time.Duration
	for _, d := range list {
		between += d
		longest = max(longest, d)
	}
	total := between + time.Duration(s.MaxReceiveCount)*m.Function.Timeout
	at := s.Resource.Get("RedrivePolicy", "maxReceiveCount").Pos
	switch {
	case total > s.Retention():
		v := s.Resource.Get("MessageRetentionPeriod")
		r.report(v.Pos, "queue %s keeps messages for %v, and a record that keeps failing is retried for up to %v (%d attempts): it expires before it becomes a dead letter",
			title(s.Queue), words(s.Retention()), words(total), s.MaxReceiveCount)
	case longest+m.Function.Timeout+m.Event.Window > settle.MaxVisibility:
		r.report(at, "a record of queue %s may wait %v for an attempt, and with the time for it (%v) that is more than SQS's 12 hours from a receive",
			title(s.Queue), words(longest), words(m.Function.Timeout))
	case variables.texts[settings.Backoff.Name] != "" && between < time.Minute:
		r.report(at, "the %d attempts of a record of queue %s are over after %v of backoff: an outage that is longer makes a dead letter of every record. "+
			"Without %s the attempts survive %s (15 minutes by default)", s.MaxReceiveCount, title(s.Queue), words(between), settings.Backoff.Name, settings.Outage.Name).Severity = Note
	}
}

// words writes a duration without parts that are zero.
func words(d time.Duration) string {
	if hours := d / time.Hour; hours >= 48 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", hours/24)
	}
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
