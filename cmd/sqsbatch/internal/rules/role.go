package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// What a permission applies to.
const (
	OnQueue       = "queue"
	OnDeadLetters = "dead-letter queue"
	OnLog         = "log"
	OnKey         = "key"
)

// Permission is an action and what it applies to.
type Permission struct{ Action, On string }

// ofToolkit are the permissions for the calls of the toolkit. Lambda's pollers make some of them
// with the role of the function ("Creating and configuring an Amazon SQS event source mapping").
var ofToolkit = []Permission{
	{"sqs:ReceiveMessage", OnQueue}, {"sqs:DeleteMessage", OnQueue}, {"sqs:GetQueueAttributes", OnQueue},
	{"sqs:ChangeMessageVisibility", OnQueue}, {"sqs:SendMessage", OnDeadLetters},
}

// OfFunction are the permissions of a function's role.
var OfFunction = slices.Concat(ofToolkit, []Permission{{"logs:CreateLogStream", OnLog}, {"logs:PutLogEvents", OnLog}})

// OfContainer are the permissions of a program that polls. It gets the queue's URL, and the
// platform writes its log. Permissions on a key are for queues that are encrypted with one:
// "Key management" in the SQS Developer Guide.
var OfContainer = slices.Concat(ofToolkit, []Permission{{"kms:Decrypt", OnKey}, {"kms:GenerateDataKey", OnKey}})

// Grant is a permission that a role has. Its resource is an ARN or a pattern of ARNs, and
// "${Resource.Attribute}" if that is known only after the deployment.
type Grant struct {
	Action, Resource string
	Pos              template.Pos
	// Managed says that a policy of AWS's or a policy template of SAM's grants it, so that
	// the template does not choose it.
	Managed bool
	// May says why the role may not have it, nil if it has it. Without an action it stands for
	// statements that may take permissions away.
	May error
}

// anything is a grant of whatever a policy allows that is not known.
func anything(at template.Pos, why error) Grant { return Grant{"*", "*", at, true, why} }

// on returns the ARN of a queue, or a pattern of them, without partition, region and account if those
// of the stack are not known: a role that names them is not compared with them.
func (r Role) on(arn string) string {
	if r.placed {
		return arn
	}
	part := strings.SplitN(arn, ":", 6)
	if len(part) < 6 || part[0] != "arn" || part[2] != "sqs" {
		return arn
	}
	return "arn::sqs:::" + part[5]
}

// matches reports whether a pattern of IAM's, with * and ?, has s.
func matches(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return strings.EqualFold(pattern, s)
	}
	quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("(?is)^" + quoted + "$").MatchString(s)
}

// Role is a role with the permissions that it must have.
type Role struct {
	template.Resource
	Grants  []Grant
	Needs   []Permission
	ARNs    map[string]string // the ARNs that the permissions apply to. Others are not judged
	foreign bool              // the function is in another language, so it does not use the toolkit
	// container says that a container has the role.
	container bool
	placed    bool   // the region and the account of the stack are known
	name      string // how messages call it, if it is not a resource of its own
	key       *queueKey
	caller    delivery // the service that assumes it, if that is judged
}

func (r Role) title() string { return cmp.Or(r.name, r.ID) }

// missing makes the check of a rule on permissions that a role does not allow. A function in
// another language does not need what only the toolkit calls.
func missing(consequence string, concerns func(Permission) bool) func(Role, *reporter) {
	return func(r Role, out *reporter) {
		for _, p := range r.Needs {
			arn, known := r.ARNs[p.On]
			if !known || !concerns(p) || r.foreign && (backoff(p) || deadLetters(p)) {
				continue
			}
			if r.allows(out, func(g Grant) bool { return matches(g.Action, p.Action) && matches(r.on(g.Resource), r.on(arn)) }) {
				continue
			}
			if r.container && p == attributes {
				out.report(r.Pos, "%s does not allow %s on the queue: retries are spaced as for a maxReceiveCount of 5, unless %s and %s are set", r.title(), p.Action, settings.MaxReceiveCount.Name, settings.DeadLetterQueue.Name).Severity = Warning
			} else {
				out.report(r.Pos, "%s does not allow %s on the %s: %s", r.title(), p.Action, p.On, consequence)
			}
		}
	}
}

// allows reports whether a grant allows something. If that depends on grants that are not
// known, it says so.
func (r Role) allows(out *reporter, allowed func(Grant) bool) bool {
	certain := slices.ContainsFunc(r.Grants, func(g Grant) bool { return g.May == nil && allowed(g) })
	for _, g := range r.Grants {
		if g.May != nil && (certain && g.Action == "" || !certain && allowed(g)) {
			r.unsure(out, g.May)
			return true
		}
	}
	return certain
}

// unsure says that a rule depends on permissions that are not known.
func (r Role) unsure(out *reporter, why error) {
	out.unsure(r.Pos, "not all permissions of %s are known: %s", r.title(), template.Reason(r.Pos, why))
}

// Roles are the rules of a role.
var Roles = []Rule[Role]{
	{
		Info: Info{ID: "SB301", Severity: Error, Page: "Creating and configuring an Amazon SQS event source mapping",
			Title: "The role does not allow what receives and deletes messages or writes the log",
			Why:   "Nothing is received, or nothing is logged."},
		check: missing("messages are not received or deleted, or nothing is logged", func(p Permission) bool {
			return !backoff(p) && !deadLetters(p) && p.On != OnKey
		}),
	},
	{
		Info: Info{ID: "SB302", Severity: Warning, Page: "Actions, resources, and condition keys for Amazon SQS",
			Title: "The role does not allow sqs:ChangeMessageVisibility",
			Why:   "There is no backoff on Lambda, and no heartbeat in a container."},
		check: missing("failed records come back only after the visibility timeout", backoff),
	},
	{
		Info: Info{ID: "SB303", Severity: Warning, Page: "Actions, resources, and condition keys for Amazon SQS",
			Title: "The role does not allow sqs:SendMessage on the dead-letter queue",
			Why:   "Records that failed for good are retried until maxReceiveCount is reached."},
		check: missing("records that failed for good are retried", deadLetters),
	},
	{
		Info: Info{ID: "SB304", Severity: Error, Page: "Key management (Amazon SQS Developer Guide)",
			Title: "The role may not use the queue's key",
			Why:   "Nothing is received or dead-lettered."},
		check: func(role Role, r *reporter) {
			missing("messages cannot be read or sent", func(p Permission) bool { return p.On == OnKey })(role, r)
			if k := role.key; k != nil && !k.aws && !role.allows(r, func(g Grant) bool { return matches(g.Action, "kms:Decrypt") && k.covered(g.Resource) }) {
				role.decrypts(r)
			}
		},
	},
	{
		Info: Info{ID: "SB305", Severity: Warning, Page: "Security best practices in IAM",
			Title: "The role allows more than is called",
			Why:   "Anyone who takes over the function may do that, too. It is a note if no * is in it, since the function itself may need it. Permissions to read the name and the settings of one queue are no finding: grants of CDK contain them."},
		check: excess,
	},
	{
		Info: Info{ID: "SB307", Severity: Error, Page: "Defining Lambda function permissions with an execution role",
			Title: "Lambda may not assume the function's role",
			Why:   "Lambda refuses the function: the role's trust policy must allow lambda.amazonaws.com sts:AssumeRole."},
		check: func(role Role, r *reporter) {
			trust := role.Get("AssumeRolePolicyDocument")
			statements, err := statementsOf(trust)
			if role.caller.st == nil || trust.Absent() || !r.known(trust) || err != nil {
				return
			}
			all, why := never, ""
			for _, s := range statements {
				effect, unknown := s.Get("Effect").Str()
				a, says := role.caller.about(s, "sts:AssumeRole")
				switch {
				case s.Err != nil || unknown != nil:
					all = perhaps
				case effect == "Allow":
					all, why = all.or(a), cmp.Or(why, says)
				}
			}
			if all == never {
				f := r.report(trust.Pos, "the trust policy of %s does not let %s assume it", role.title(), role.caller.service)
				if why != "" {
					f.Message += ": " + why
				}
			}
		},
	},
}

// attributes is needed to learn maxReceiveCount and the dead-letter queue. Lambda needs it, too.
var attributes = Permission{"sqs:GetQueueAttributes", OnQueue}

func backoff(p Permission) bool { return p.Action == "sqs:ChangeMessageVisibility" }

func deadLetters(p Permission) bool { return p.On == OnDeadLetters }

// harmless reports whether something calls what is granted, or whether it only reads what a
// queue is called and how it is set: grants of CDK's contain that for each queue. A permission
// for a single message is one for a batch.
func (r Role) harmless(g Grant) bool {
	action := strings.TrimSuffix(strings.ToLower(g.Action), "batch")
	for on, arn := range r.ARNs {
		reads := (on == OnQueue || on == OnDeadLetters) && (action == "sqs:getqueueurl" || action == "sqs:getqueueattributes")
		if r.on(arn) == r.on(g.Resource) && (reads || slices.ContainsFunc(r.Needs, func(p Permission) bool { return p.On == on && strings.EqualFold(p.Action, action) })) {
			return true
		}
	}
	return false
}

// excess reports grants on what the role is for that nothing calls, and actions of
// SQS on all queues.
func excess(r Role, out *reporter) {
	for _, g := range r.Grants {
		if g.May != nil {
			r.unsure(out, g.May)
		}
	}
	if slices.ContainsFunc(r.Grants, func(g Grant) bool { return g.May != nil && g.Action == "" }) {
		return
	}
	for _, g := range r.Grants {
		if g.Managed || g.May != nil {
			continue
		}
		on := g.Resource
		judged := strings.HasPrefix(strings.ToLower(g.Action), "sqs:") && strings.Contains(g.Resource, "*") || g.Action == "*"
		for what, arn := range r.ARNs {
			if r.on(g.Resource) == r.on(arn) {
				on, judged = "the "+what, true
			}
		}
		if judged && !r.harmless(g) {
			f := out.report(g.Pos, "%s allows %s on %s, which is not called by the toolkit", r.title(), g.Action, on)
			if !strings.Contains(g.Action+g.Resource, "*") {
				f.Severity = Note // the function itself may call it
			}
		}
	}
}
