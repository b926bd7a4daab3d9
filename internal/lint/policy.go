package lint

import (
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// A Policy is an AWS::SQS::QueuePolicy.
type Policy struct{ template.Resource }

const securityPage = "Amazon SQS security best practices"

// Policies are the rules of a queue's policy.
var Policies = []Rule[Policy]{
	{
		Info: Info{ID: "SB212", Severity: Error, Page: securityPage,
			Title: "The queue is public",
			Why:   "A statement with the principal * and without a condition lets everyone with an AWS account call its actions: send, receive or delete."},
		check: func(p Policy, r *reporter) {
			for _, s := range p.statements(r) {
				effect, _ := s.Get("Effect").Str()
				if principal := s.Get("Principal"); effect == "Allow" && everyone(principal) && s.Get("Condition").Absent() {
					r.report(principal.Pos, "policy %s allows everyone to use the queue; name a principal, or add a Condition such as aws:SourceArn", p.ID)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB213", Severity: Note, Page: securityPage,
			Title: "The queue's policy does not require TLS",
			Why:   "SQS takes requests over plain HTTP unless a statement denies them. The AWS SDKs use TLS, other clients may not."},
		check: func(p Policy, r *reporter) {
			statements := p.statements(r)
			if statements == nil || slices.ContainsFunc(statements, func(s template.Value) bool {
				effect, _ := s.Get("Effect").Str()
				transport, _ := s.Get("Condition", "Bool", "aws:SecureTransport").Str()
				return effect == "Deny" && strings.EqualFold(transport, "false")
			}) {
				return
			}
			r.report(p.Pos, `policy %s has no statement with Effect: Deny, Principal: "*", Action: sqs:* and Condition: {Bool: {"aws:SecureTransport": "false"}}`, p.ID)
		},
	},
}

// statements are those of the policy, nil if they are not known.
func (p Policy) statements(r *reporter) []template.Value {
	list, err := statementsOf(p.Get("PolicyDocument"))
	for _, s := range list {
		if s.Err != nil {
			err = s.Err
		}
	}
	if err != nil {
		r.unsure(p.Pos, "policy %s cannot be read: %s", p.ID, template.Reason(p.Pos, err))
		return nil
	}
	return list
}

// everyone reports whether a principal is *.
func everyone(principal template.Value) bool {
	if s, err := principal.Str(); err == nil {
		return s == "*"
	}
	list, _ := texts(principal.Get("AWS"))
	return slices.Contains(list, "*")
}

// A queueKey is a key of KMS that encrypts a queue.
type queueKey struct {
	queue template.Queue
	value template.Value
	own   template.Resource // the key's resource. It has no ID if the key is not in the template
	aws   bool              // it is AWS's own key for SQS, whose policy cannot be changed
}

// keyOf returns the key of a queue, nil if there is none.
func keyOf(st *template.Stack, q template.Queue) *queueKey {
	v := q.Resource.Get("KmsMasterKeyId")
	if v.Absent() {
		return nil
	}
	name, _ := nameOf(v)
	k := &queueKey{queue: q, value: v, aws: strings.HasSuffix(name, "alias/aws/sqs")}
	r, _ := st.Resource(name)
	if r.Type == "AWS::KMS::Alias" {
		name, _ = nameOf(r.Get("TargetKeyId"))
		r, _ = st.Resource(name)
	}
	if r.Type == "AWS::KMS::Key" {
		k.own = r
	}
	return k
}

// decrypts is the part of SB304 for the role of a function: without kms:Decrypt on any key it
// cannot receive from a queue that is encrypted with a key of one's own.
func (r Role) decrypts(out *reporter) {
	if r.key == nil || r.key.aws || slices.ContainsFunc(r.Grants, func(g Grant) bool { return matches(g.Action, "kms:Decrypt") }) {
		return
	}
	if r.key.own.ID != "" && r.key.names() {
		return
	}
	f := out.report(r.Pos, "%s does not allow kms:Decrypt, and queue %s is encrypted with a key of KMS: messages cannot be received", r.title(), title(r.key.queue))
	if r.key.own.ID == "" {
		f.Severity = Warning
		f.Message += " unless the key's own policy allows it"
	}
}

// names reports whether the key's policy may allow a role by its name: it names principals
// other than the account, or cannot be read.
func (k *queueKey) names() bool {
	statements, err := statementsOf(k.own.Get("KeyPolicy"))
	for _, s := range statements {
		if everyone(s.Get("Principal")) {
			return true
		}
		list, bad := texts(s.Get("Principal", "AWS"))
		if bad != nil || slices.ContainsFunc(list, func(arn string) bool { return !strings.HasSuffix(arn, ":root") }) {
			return true
		}
	}
	return err != nil
}

// A Key is a queue's key with the services that send to the queue.
type Key struct {
	*queueKey
	// senders are the places of the template that make a service send to the queue, by the
	// service's principal.
	senders map[string]template.Pos
}

// Keys are the rules of a queue's key.
var Keys = []Rule[Key]{{
	Info: Info{ID: "SB306", Severity: Error, Page: "Key management (Amazon SQS Developer Guide)",
		Title: "The key's policy does not let a service send",
		Why:   "SNS, S3 and EventBridge need kms:GenerateDataKey and kms:Decrypt in the key's own policy to send to an encrypted queue. Without them messages are lost, or the notification is refused. AWS's own key, alias/aws/sqs, cannot allow them."},
	check: func(k Key, r *reporter) {
		for _, service := range []string{"sns.amazonaws.com", "s3.amazonaws.com", "events.amazonaws.com"} {
			at, sends := k.senders[service]
			switch {
			case !sends:
			case k.aws:
				r.report(k.value.Pos, "queue %s is encrypted with alias/aws/sqs, with which %s cannot send to it; use a key of your own, or SqsManagedSseEnabled", title(k.queue), service)
			case k.own.ID == "":
				r.unsure(k.value.Pos, "the policy of the key of queue %s is not in the template: whether %s may use it is not known", title(k.queue), service)
			default:
				k.admits(r, service, at)
			}
		}
	},
}}

// admits reports a key whose policy does not allow a service what it needs to send.
func (k Key) admits(r *reporter, service string, at template.Pos) {
	policy := k.own.Get("KeyPolicy")
	statements, err := statementsOf(policy)
	if err != nil {
		r.unsure(policy.Pos, "the policy of key %s cannot be read: %s", k.own.ID, template.Reason(policy.Pos, err))
		return
	}
	needs := []string{"kms:GenerateDataKey", "kms:Decrypt"}
	for _, s := range statements {
		services, bad := texts(s.Get("Principal", "Service"))
		actions, unknown := texts(s.Get("Action"))
		if principal := s.Get("Principal"); bad != nil && everyone(principal) {
			services, bad = []string{service}, nil
		}
		if bad != nil || unknown != nil || s.Err != nil {
			r.unsure(s.Pos, "a statement of key %s cannot be read", k.own.ID)
			return
		}
		effect, _ := s.Get("Effect").Str()
		if effect != "Allow" || !slices.Contains(services, service) && !everyone(s.Get("Principal")) {
			continue
		}
		needs = slices.DeleteFunc(needs, func(need string) bool {
			return slices.ContainsFunc(actions, func(a string) bool { return matches(a, need) })
		})
	}
	if len(needs) > 0 {
		r.report(policy.Pos, "the policy of key %s does not allow %s to %s, which sends to queue %s (line %d)", k.own.ID, strings.Join(needs, " and "), service, title(k.queue), at.Line)
	}
}

// senders are the types of resources that make a service send to queues: where they list what is
// sent, nil if they are one themselves, and what names the queue in it.
var senders = map[string]struct {
	service string
	list    []string
	queue   string
}{
	"AWS::SNS::Subscription": {"sns.amazonaws.com", nil, "Endpoint"},
	"AWS::SNS::Topic":        {"sns.amazonaws.com", []string{"Subscription"}, "Endpoint"},
	"AWS::S3::Bucket":        {"s3.amazonaws.com", []string{"NotificationConfiguration", "QueueConfigurations"}, "Queue"},
	"AWS::Events::Rule":      {"events.amazonaws.com", []string{"Targets"}, "Arn"},
}

// sendersTo finds the services that send to queues because of the template, by the queue's ARN.
func sendersTo(st *template.Stack) map[string]map[string]template.Pos {
	all := map[string]map[string]template.Pos{}
	for _, r := range st.All() {
		sender, ok := senders[r.Type]
		if !ok {
			continue
		}
		items := []template.Value{r.Get()}
		if sender.list != nil {
			items, _ = r.Get(sender.list...).List()
		}
		for _, item := range items {
			queue := item.Get(sender.queue)
			arn, err := queue.Str()
			if err != nil || !strings.Contains(arn, ":sqs:") {
				continue
			}
			if all[arn] == nil {
				all[arn] = map[string]template.Pos{}
			}
			all[arn][sender.service] = queue.Pos
		}
	}
	return all
}
