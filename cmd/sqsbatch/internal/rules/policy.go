package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Policy is an AWS::SQS::QueuePolicy.
type Policy struct{ template.Resource }

const securityPage = "Amazon SQS security best practices"

// Policies are the rules of a queue's policy.
var Policies = []Rule[Policy]{
	{
		Info: Info{ID: "SB212", Severity: Error, Page: securityPage,
			Title: "The queue is public",
			Why:   "A statement with the principal *, or with NotPrincipal, lets everyone with an AWS account call its actions: send, receive or delete. Only a condition on who calls restricts that, such as aws:SourceArn, aws:SourceAccount or aws:PrincipalOrgID with a value that names someone, or a statement that denies all others. An operator with IfExists, ForAllValues or Not does not."},
		check: func(p Policy, r *reporter) {
			for _, s := range p.allowing(r) {
				actions, _ := texts(s.Get("Action"))
				principal := s.Get("Principal")
				if not := s.Get("NotPrincipal"); !not.Absent() {
					principal = not
				} else if !everyone(principal) {
					continue
				}
				if !restricted(s.Get("Condition"), callers, anyone) && !p.denies(r, actions, callers) {
					r.report(principal.Pos, "policy %s allows everyone to use the queue (%s); name a principal, or add a Condition such as aws:SourceArn", p.ID, cmp.Or(strings.Join(actions, ", "), "nearly all actions"))
				}
			}
		},
	},
	{
		Info: Info{ID: "SB217", Severity: Error, Page: "AWS JSON policy elements: Principal",
			Title: "A statement of the queue's policy has no principal",
			Why:   "SQS refuses the policy: a policy of a resource must say whom each statement is about."},
		check: func(p Policy, r *reporter) {
			for _, s := range p.statements(r) {
				if r.known(s.Get("Principal"), s.Get("NotPrincipal")) && s.Get("Principal").Absent() && s.Get("NotPrincipal").Absent() {
					r.report(s.Pos, "a statement of policy %s has no Principal; SQS refuses the policy", p.ID)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB218", Severity: Warning, Page: "The confused deputy problem",
			Title: "A service may send for anyone",
			Why:   "SNS, S3 and EventBridge send to the queue for anyone who configures them, in any account, unless a condition has aws:SourceArn, aws:SourceAccount, aws:SourceOrgID or aws:SourceOrgPaths. A wildcard for the account, or in the name of a bucket, admits resources of others. Other services are not judged, since some do not give these keys."},
		check: func(p Policy, r *reporter) {
			for _, s := range p.allowing(r) {
				services, err := texts(s.Get("Principal", "Service"))
				actions, _ := texts(s.Get("Action"))
				if err != nil || restricted(s.Get("Condition"), sources, anySource) || p.denies(r, actions, sources) {
					continue
				}
				for _, service := range services {
					if slices.Contains(sending, service) {
						r.report(s.Get("Principal").Pos, "policy %s lets %s use the queue for resources of any account; add a Condition with aws:SourceArn or aws:SourceAccount", p.ID, service)
					}
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

// allowing are the policy's statements that allow something.
func (p Policy) allowing(r *reporter) []template.Value {
	return slices.DeleteFunc(slices.Clone(p.statements(r)), func(s template.Value) bool {
		effect, _ := s.Get("Effect").Str()
		return effect != "Allow"
	})
}

// sources are the keys of conditions on the resource that a service sends for, in lower case.
var sources = []string{"aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths"}

// callers are the keys of conditions that restrict who calls.
var callers = append([]string{"aws:principalarn", "aws:principalaccount", "aws:principalorgid", "aws:principalorgpaths", "aws:principalservicename",
	"aws:sourcevpce", "aws:sourcevpc", "aws:sourceip", "aws:sourceowner", "aws:userid", "aws:vpceaccount", "aws:vpceorgid", "aws:vpceorgpaths"}, sources...)

// positive are operators of conditions that only a key with one of the values meets.
var positive = regexp.MustCompile(`(?i)^(forany(value)?:)?(string(equals|equalsignorecase|like)|arn(equals|like)|ipaddress)$`)

// denies reports whether a statement of the policy denies the actions to all but some callers, by one of the keys.
func (p Policy) denies(r *reporter, actions, keys []string) bool {
	return slices.ContainsFunc(p.statements(r), func(s template.Value) bool {
		but := !s.Get("NotPrincipal").Absent()
		if effect, _ := s.Get("Effect").Str(); effect != "Deny" || len(actions) == 0 || !but && !everyone(s.Get("Principal")) {
			return false
		}
		denied, err := texts(s.Get("Action"))
		for _, action := range actions {
			if err == nil && !slices.ContainsFunc(denied, func(d string) bool { return matches(d, action) }) {
				return false
			}
		}
		for operator, tests := range s.Get("Condition").Entries() {
			for key := range tests.Entries() {
				but = but || strings.Contains(strings.ToLower(operator), "not") && slices.Contains(keys, strings.ToLower(key))
			}
		}
		return but
	})
}

// restricted reports whether a condition has one of the keys with values that name someone, or
// is not known.
func restricted(condition template.Value, keys []string, anyone func(string) bool) bool {
	if condition.Err != nil {
		return true
	}
	for operator, tests := range condition.Entries() {
		if tests.Err != nil {
			return true
		}
		for key, value := range tests.Entries() {
			if !positive.MatchString(operator) || !slices.Contains(keys, strings.ToLower(key)) {
				continue
			}
			list, err := texts(value)
			if err != nil || !slices.ContainsFunc(list, anyone) { // an empty list admits nobody
				return true
			}
		}
	}
	return false
}

// anyone reports whether a value of a condition matches callers of all accounts. An ARN of S3
// has no account, and the names of buckets are unique.
func anyone(value string) bool {
	if value == "0.0.0.0/0" || value == "::/0" || value == "o-*" || strings.Trim(value, "*?") == "" {
		return true
	}
	arn := strings.SplitN(value, ":", 6)
	if arn[0] != "arn" || len(arn) < 6 {
		return strings.HasPrefix(value, "arn:") && strings.HasSuffix(value, "*")
	}
	return strings.Trim(arn[4], "*?") == "" && (arn[2] != "s3" || strings.Trim(arn[5], "*?") == "")
}

// anySource reports whether a value of aws:SourceArn matches resources that other accounts may make.
// The name of a bucket with a wildcard is one that others may take, too.
func anySource(value string) bool {
	arn := strings.SplitN(value, ":", 6)
	return anyone(value) || len(arn) == 6 && arn[2] == "s3" && strings.Trim(arn[4], "*") == "" && strings.ContainsAny(arn[5], "*?")
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
	if strings.HasPrefix(name, "alias/") {
		r = aliasOf(st, name)
	}
	if r.Type == "AWS::KMS::Alias" {
		name, _ = nameOf(r.Get("TargetKeyId"))
		r, _ = st.Resource(name)
	}
	if r.Type == "AWS::KMS::Key" {
		k.own = r
	}
	return k
}

// aliasOf returns the template's alias of a name.
func aliasOf(st *template.Stack, name string) template.Resource {
	list, _ := st.Resources("AWS::KMS::Alias")
	for _, r := range list {
		if text, err := r.Get("AliasName").Str(); err == nil && text == name {
			return r
		}
	}
	return template.Resource{}
}

// decrypts is the part of SB304 for the role of a function: without kms:Decrypt on any key it
// cannot receive from a queue that is encrypted with a key of one's own.
func (r Role) decrypts(out *reporter) {
	if !r.key.named(out) || r.key.own.ID != "" && r.key.names() {
		return
	}
	f := out.report(r.Pos, "%s does not allow kms:Decrypt on the key of KMS that encrypts queue %s: messages cannot be received", r.title(), title(r.key.queue))
	if r.key.own.ID == "" {
		f.Severity = Warning
		f.Message += " unless the key's own policy allows it"
	}
}

// named reports whether it is known what names the key. If not, it says so.
func (k *queueKey) named(r *reporter) bool {
	_, attribute := nameOf(k.value)
	return attribute || r.known(k.value)
}

// covered reports whether a permission on a resource may be one on the key. It is not if the
// resource has the id of another key than the one that the queue names. Regions and accounts are
// not compared, since those of the stack may not be known.
func (k *queueKey) covered(resource string) bool {
	name, attribute := nameOf(k.value)
	_, id, ok := strings.Cut(resource, ":key/")
	if !ok || k.own.ID != "" || attribute || name == "" || strings.Contains(name, "alias/") || strings.Contains(resource, "${") {
		return true
	}
	return matches(id, name[strings.LastIndex(name, "/")+1:])
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
	deliveries []delivery // to the queue
}

// Keys are the rules of a queue's key.
var Keys = []Rule[Key]{{
	Info: Info{ID: "SB306", Severity: Error, Page: "Key management (Amazon SQS Developer Guide)",
		Title: "The key's policy does not let a service send",
		Why:   "SNS, S3 and EventBridge need kms:GenerateDataKey and kms:Decrypt in the key's own policy to send to an encrypted queue. Without them messages are lost, or the notification is refused. Conditions on identities, such as kms:CallerAccount, keep services out. AWS's own key, alias/aws/sqs, cannot allow them."},
	check: func(k Key, r *reporter) {
		for _, service := range sending {
			for _, d := range k.deliveries {
				if d.service == service && !k.admits(r, d) {
					break // one topic, bucket or rule is enough
				}
			}
		}
	},
}}

// admits reports whether the key lets a service send, or may do so. It says why not.
func (k Key) admits(r *reporter, d delivery) bool {
	switch {
	case k.aws:
		r.report(k.value.Pos, "queue %s is encrypted with alias/aws/sqs, with which %s cannot send to it; use a key of your own, or SqsManagedSseEnabled", title(k.queue), d.service)
		return false
	case !k.named(r):
		return false
	case k.own.ID == "":
		r.unsure(k.value.Pos, "the policy of the key of queue %s is not in the template: whether %s may use it is not known", title(k.queue), d.service)
		return false
	}
	policy := k.own.Get("KeyPolicy")
	statements, err := statementsOf(policy)
	if err != nil {
		r.unsure(policy.Pos, "the policy of key %s cannot be read: %s", k.own.ID, template.Reason(policy.Pos, err))
		return false
	}
	var missing []string
	why, doubt := "", ""
	for _, need := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		all := never
		for _, s := range statements {
			a, says := d.about(s, need)
			effect, unknown := s.Get("Effect").Str()
			_, unread := texts(s.Get("Principal", "Service"))
			switch {
			case unknown != nil || s.Err != nil || unread != nil && a == perhaps:
				r.unsure(s.Pos, "a statement of key %s cannot be read", k.own.ID)
				return false
			case effect == "Allow":
				if all = all.or(a); a == never {
					why = cmp.Or(why, says)
				} else {
					doubt = cmp.Or(doubt, says)
				}
			case effect == "Deny" && a == surely:
				missing = append(missing, need)
				why = "a statement denies it, since " + says
			}
		}
		if all == never && !slices.Contains(missing, need) {
			missing = append(missing, need)
		}
	}
	switch {
	case len(missing) > 0:
		f := r.report(policy.Pos, "the policy of key %s does not allow %s to %s, which sends to queue %s (line %d)", k.own.ID, strings.Join(missing, " and "), d.service, title(k.queue), d.queue.Pos.Line)
		if why != "" {
			f.Message += ": " + why
		}
	case doubt != "":
		r.unsure(policy.Pos, "whether key %s lets %s send to queue %s is not known: %s", k.own.ID, d.service, title(k.queue), doubt)
	default:
		return true
	}
	return false
}
