package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A delivery is a place in the template that makes a service send to a queue.
type delivery struct {
	service string
	from    template.Value // the subscription, the notification or the target
	queue   template.Value // what names the queue
	fifo    *bool          // whether the topic is a FIFO topic, nil if it is none or not known
	allowed bool           // SAM adds the permission, or a role sends

	st    *template.Stack
	owner template.Resource // the topic, the bucket or the rule. It has no ID if it is not in the template
	arn   []string          // the parts of its ARN, "" for those that are not known. nil if none is
}

// sender is how messages call what sends.
func (d delivery) sender() string {
	return cmp.Or(d.owner.ID, strings.Join(d.arn, ":"), d.service)
}

// setOwner says what sends: a resource of the template or one with an ARN.
func (d *delivery) setOwner(v template.Value) {
	name, _ := nameOf(v)
	r, ok := d.st.Resource(name)
	if ok {
		d.own(r)
	} else if parts := strings.SplitN(name, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		d.arn = parts
	}
}

// own says which resource sends. Its name is that in its ARN, if it has one.
func (d *delivery) own(r template.Resource) {
	d.owner = r
	name, prefix := "", ""
	switch r.Type {
	case "AWS::SNS::Topic":
		name, _ = r.Get("TopicName").Str()
	case "AWS::S3::Bucket":
		name, _ = r.Get("BucketName").Str()
	case "AWS::Events::Rule":
		if bus, err := r.Get("EventBusName").Str(); err == nil && (bus == "" || bus == "default") {
			name, _ = r.Get("Name").Str()
			prefix = "rule/"
		}
	}
	if name != "" {
		d.arn = []string{"", "", "", "", "", prefix + name}
	}
}

// sending are the principals of the services that the templates' deliveries are of.
var sending = []string{"sns.amazonaws.com", "s3.amazonaws.com", "events.amazonaws.com"}

// senders are the types of resources that make a service send to queues: where they list what is
// sent, nil if they are one themselves, and what names the queue in it.
var senders = map[string]struct {
	service string
	list    []string
	queue   []string
}{
	"AWS::SNS::Subscription":    {"sns.amazonaws.com", nil, []string{"Endpoint"}},
	"AWS::SNS::Topic":           {"sns.amazonaws.com", []string{"Subscription"}, []string{"Endpoint"}},
	"AWS::S3::Bucket":           {"s3.amazonaws.com", []string{"NotificationConfiguration", "QueueConfigurations"}, []string{"Queue"}},
	"AWS::Events::Rule":         {"events.amazonaws.com", []string{"Targets"}, []string{"Arn"}},
	"AWS::Serverless::Function": {"sns.amazonaws.com", []string{"Events"}, []string{"Properties", "SqsSubscription", "QueueArn"}},
}

// deliveriesTo lists what makes services send to queues, by the queue's ARN. What may not be
// created is left out.
func deliveriesTo(st *template.Stack) map[string][]delivery {
	all, created := map[string][]delivery{}, creation(st)
	for _, r := range st.All() {
		sender, ok := senders[r.Type]
		if !ok {
			continue
		}
		items := []template.Value{r.Get()}
		if sender.list != nil {
			items, _ = r.Get(sender.list...).List()
			for _, event := range r.Get(sender.list...).Entries() {
				items = append(items, event)
			}
		}
		for _, item := range items {
			queue := item.Get(sender.queue...)
			arn, err := queue.Str()
			if err != nil || !strings.Contains(arn, ":sqs:") || !created(r) {
				continue
			}
			d := delivery{service: sender.service, from: item, queue: queue, st: st}
			d.allowed = r.Type == template.SAMFunction || !item.Get("RoleArn").Absent()
			switch r.Type {
			case "AWS::SNS::Subscription":
				d.fifo = topicOf(st, item.Get("TopicArn"))
				d.setOwner(item.Get("TopicArn"))
			case template.SAMFunction:
				d.fifo = topicOf(st, item.Get("Properties", "Topic"))
				d.setOwner(item.Get("Properties", "Topic"))
			case "AWS::SNS::Topic":
				d.fifo = fifoTopic(r)
				fallthrough
			default:
				d.own(r)
			}
			all[arn] = append(all[arn], d)
		}
	}
	return all
}

// creation returns a function that reports whether a resource is surely created. Types that it
// is not asked for add nothing to what is not known.
func creation(st *template.Stack) func(template.Resource) bool {
	created := map[string]map[string]bool{} // by type and logical id
	return func(r template.Resource) bool {
		if created[r.Type] == nil {
			created[r.Type] = map[string]bool{}
			list, _ := st.Resources(r.Type)
			for _, c := range list {
				created[r.Type][c.ID] = true
			}
		}
		return created[r.Type][r.ID]
	}
}

// topicOf reports whether a topic is a FIFO topic, nil if that is not known.
func topicOf(st *template.Stack, v template.Value) *bool {
	name, _ := nameOf(v)
	if r, ok := st.Resource(name); ok {
		if r.Type != "AWS::SNS::Topic" {
			return nil
		}
		return fifoTopic(r)
	}
	if !strings.HasPrefix(name, "arn:") {
		return nil
	}
	fifo := strings.HasSuffix(name, ".fifo") // as the names of all FIFO topics
	return &fifo
}

func fifoTopic(r template.Resource) *bool {
	fifo, err := r.Get("FifoTopic").Bool(false)
	if err != nil {
		return nil
	}
	return &fifo
}

// fed are the rules of a queue that services send to.
var fed = []Rule[Source]{
	{
		Info: Info{ID: "SB219", Severity: Warning, Page: "Basic examples of Amazon SQS policies",
			Title: "No policy lets a service send to the queue",
			Why:   "SNS, S3 and EventBridge need sqs:SendMessage in the queue's own policy. Without it the messages of SNS and EventBridge are lost, unless a policy outside of the template allows them. It is an error if the queue has a policy in the template, since a queue has only one, and with S3, which refuses the notification. Conditions on identities, such as aws:PrincipalOrgID, keep services out. SAM adds the policy for an SqsSubscription, and a target of EventBridge with a RoleArn needs none."},
		check: func(s Source, r *reporter) {
			for _, d := range s.deliveries {
				policy, a, why := s.policies.allow(s.Queue, d)
				if d.allowed || a != never {
					continue
				}
				says := fmt.Sprintf("%s sends to queue %s, and no policy of the template allows it sqs:SendMessage there", d.service, title(s.Queue))
				if policy != "" { // a queue has one policy, so there is no other
					says = fmt.Sprintf("%s sends to queue %s for %s, and policy %s does not let it", d.service, title(s.Queue), d.sender(), policy)
					if why != "" {
						says += ": " + why
					}
				}
				f := r.report(d.queue.Pos, "%s", says)
				if policy != "" || d.service == "s3.amazonaws.com" {
					f.Severity = Error
				}
			}
		},
	},
	{
		Info: Info{ID: "SB220", Severity: Error, Page: "Amazon SNS message delivery for FIFO topics",
			Title: "The sender cannot send to a FIFO queue",
			Why:   "AWS refuses it: a standard topic and a bucket send to standard queues only, and a target of EventBridge needs SqsParameters with a MessageGroupId."},
		check: func(s Source, r *reporter) {
			for _, d := range s.deliveries {
				group := d.from.Get("SqsParameters", "MessageGroupId")
				says := ""
				switch {
				case !s.FIFO:
				case d.service == "s3.amazonaws.com":
					says = "S3 sends to standard queues only"
				case d.service == "events.amazonaws.com" && r.known(d.from.Get("SqsParameters"), group) && group.Absent():
					says = "the target needs SqsParameters with a MessageGroupId"
				case d.fifo != nil && !*d.fifo:
					says = "a standard topic sends to standard queues only"
				}
				if says != "" && r.known(s.Resource.Get("FifoQueue")) {
					r.report(d.queue.Pos, "queue %s is a FIFO queue: %s", title(s.Queue), says)
				}
			}
		},
	},
}

// queuePolicies are the template's policies of queues, with what else may let a service send.
type queuePolicies struct {
	of     map[string][]template.Resource // by the queue's URL, "" for those of queues that are not known
	unsure bool                           // there may be more
}

func queuePoliciesOf(st *template.Stack) *queuePolicies {
	types := []string{"AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy"}
	p := &queuePolicies{unsure: st.Unsure(types...) || attachmentsOf(st).others != "", of: map[string][]template.Resource{}}
	list, _ := st.Resources(types...)
	for _, policy := range list {
		queues, err := texts(policy.Get("Queues"))
		one, bad := policy.Get("Queue").Str()
		if err != nil || bad != nil {
			queues, one = nil, ""
		}
		if one != "" || len(queues) == 0 {
			queues = append(queues, one)
		}
		for _, url := range queues {
			p.of[url] = append(p.of[url], policy)
		}
	}
	return p
}

// allow reports whether the policies let a service send to a queue. If they never do, policy is one that is surely the
// queue's, "" if there is none, and why says which condition keeps the service out.
func (p *queuePolicies) allow(q template.Queue, d delivery) (policy string, all answer, why string) {
	if p.unsure {
		return "", perhaps, ""
	}
	all = never
	arn := strings.SplitN(q.ARN, ":", 6)
	onQueue := func(on string) answer {
		if parts := strings.SplitN(on, ":", 6); len(parts) == 6 && parts[0] == "arn" {
			return sameARN(d.st, parts, arn)
		}
		if strings.HasPrefix(on, "${") {
			return perhaps
		}
		return answerOf(matches(on, q.ARN))
	}
	for _, r := range slices.Concat(p.of[q.URL], p.of[""]) {
		known := slices.ContainsFunc(p.of[q.URL], func(o template.Resource) bool { return o.ID == r.ID })
		if known {
			policy = r.ID
		}
		statements, err := statementsOf(r.Get("PolicyDocument"))
		if err != nil {
			return "", perhaps, ""
		}
		for _, s := range statements {
			effect, err := s.Get("Effect").Str()
			a, says := d.about(s, "sqs:SendMessage")
			a = a.and(anyText(s.Get("Resource"), onQueue))
			switch {
			case err != nil || s.Err != nil:
				all = all.or(perhaps)
			case effect == "Allow":
				all = all.or(a)
				why = cmp.Or(why, says)
			case effect == "Deny" && a == surely && known:
				return policy, never, "a statement denies it, since " + says
			}
		}
	}
	return policy, all, why
}
