package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// roleOf returns the role of a mapping's function, with its permissions. It returns an error
// if the role is not in the template, or if its permissions cannot be known.
func roleOf(st *template.Stack, m Mapping, policies attachments) (Role, error) {
	f := m.Function.Resource
	if policies.others != "" {
		return Role{}, errors.New(policies.others)
	}
	role := Role{Needs: OfFunction, foreign: isForeign(f), ARNs: map[string]string{OnQueue: m.Queue.ARN}, key: keyOf(st, m.Queue)}
	if m.Queue.DeadLetterARN != "" {
		role.ARNs[OnDeadLetters] = m.Queue.DeadLetterARN
	}
	var err error
	if f.Type == template.SAMFunction && f.Get("Role").Absent() {
		role.Resource, role.name = f, "the role of function "+f.ID
		role.Grants, err = samGrants(st, m)
		return role, err
	}
	id, ok := nameOf(f.Get("Role"))
	if ok {
		role.Resource, ok = st.Resource(id)
	}
	if !ok {
		_, err := f.Get("Role").Str()
		return Role{}, cmp.Or(err, error(&template.Error{Pos: f.Get("Role").Pos, Message: "the role is not in the template"}))
	}
	if slices.Contains(policies.admitted, "${"+role.ID+".Arn}") {
		return Role{}, errors.New("the policy of a queue names the role")
	}
	role.Grants, err = policies.grants(role.Resource)
	return role, err
}

// isForeign reports whether a function has a runtime of another language than Go.
func isForeign(f template.Resource) bool {
	runtime, err := f.Get("Runtime").Str()
	return err == nil && runtime != "" && !strings.HasPrefix(runtime, "provided") && !strings.HasPrefix(runtime, "go")
}

// nameOf is a text, or the logical id of the resource whose attribute it is.
func nameOf(v template.Value) (name string, attribute bool) {
	text, err := v.Str()
	if id, _, ok := strings.Cut(template.Attribute(err), "."); ok {
		return id, true
	}
	return text, false
}

// Grants lists the permissions of a role: of its own statements, of policies of the template
// that are attached to it, and of a few of AWS's policies. It returns an error if the role
// grants them by other means.
func Grants(st *template.Stack, role template.Resource) ([]Grant, error) {
	return attachmentsOf(st).grants(role)
}

func (a attachments) grants(role template.Resource) ([]Grant, error) {
	grants, err := a.to(role)
	if err != nil {
		return nil, err
	}
	arns, err := texts(role.Get("ManagedPolicyArns"))
	if err != nil {
		return nil, err
	}
	managed, err := ofAll(arns, func(arn string) ([]Grant, error) { return managedGrant(role.Get("ManagedPolicyArns").Pos, arn) })
	if err != nil {
		return nil, err
	}
	policies, err := role.Get("Policies").List()
	if err != nil {
		return nil, err
	}
	own, err := ofAll(policies, func(p template.Value) ([]Grant, error) { return documentGrants(p.Get("PolicyDocument")) })
	return slices.Concat(grants, own, managed), err
}

// ofAll lists the permissions that each of a list gives, or the first reason why they are not known.
func ofAll[T any](list []T, grantsOf func(T) ([]Grant, error)) (all []Grant, err error) {
	for _, item := range list {
		grants, err := grantsOf(item)
		if err != nil {
			return nil, err
		}
		all = append(all, grants...)
	}
	return all, nil
}

// attachments are the policies of a template that name their roles.
type attachments struct {
	err      error // why they are not known
	list     []attachment
	admitted []string // the principals that policies of queues allow something
	others   string   // what else may give a role permissions, "" for nothing
}

type attachment struct {
	policy template.Resource
	roles  []string
	err    error // why its roles are not known
}

func attachmentsOf(st *template.Stack) (a attachments) {
	types := []string{"AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy"}
	if st.Unsure(types...) {
		return attachments{err: errors.New("it is not known which policies are created")}
	}
	policies, err := st.Resources(types...)
	for _, p := range policies {
		roles := p.Get("Roles")
		if p.Type == "AWS::IAM::RolePolicy" {
			roles = p.Get("RoleName")
		}
		names, err := texts(roles)
		a.list = append(a.list, attachment{p, names, err})
	}
	a.err = err
	a.readOthers(st)
	return a
}

// readOthers finds other ways to give permissions: connectors of SAM's, and policies of queues.
func (a *attachments) readOthers(st *template.Stack) {
	for _, r := range st.All() {
		if r.Type == "AWS::Serverless::Connector" || r.Connected() {
			a.others = "the connectors of " + r.ID + " add permissions"
		}
		if r.Type != "AWS::SQS::QueuePolicy" && r.Type != "AWS::SQS::QueueInlinePolicy" {
			continue
		}
		statements, _ := statementsOf(r.Get("PolicyDocument"))
		for _, s := range statements {
			if effect, _ := s.Get("Effect").Str(); effect == "Allow" {
				names, _ := texts(s.Get("Principal", "AWS"))
				a.admitted = append(a.admitted, names...)
			}
		}
	}
}

// to lists the permissions of policies that name the role.
func (a attachments) to(role template.Resource) ([]Grant, error) {
	if a.err != nil {
		return nil, a.err
	}
	name, err := role.Get("RoleName").Str()
	return ofAll(a.list, func(p attachment) ([]Grant, error) {
		if err != nil || p.err != nil {
			return nil, &template.Error{Pos: p.policy.Pos, Message: "there is also the policy " + p.policy.ID + ", whose roles are not known"}
		}
		if !slices.Contains(p.roles, role.ID) && (name == "" || !slices.Contains(p.roles, name)) {
			return nil, nil
		}
		return documentGrants(p.policy.Get("PolicyDocument"))
	})
}

// ofAWS are policies of AWS's that functions use, with what they allow of SQS and KMS on all
// resources ("AWS managed policies" of each service).
var ofAWS = map[string][]string{
	"AWSLambdaBasicExecutionRole":                 {"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
	"AWSLambdaSQSQueueExecutionRole":              {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
	"AWSLambdaVPCAccessExecutionRole":             {"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
	"AWSXRayDaemonWriteAccess":                    nil,
	"AWSXrayWriteOnlyAccess":                      nil,
	"CloudWatchLambdaInsightsExecutionRolePolicy": {"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
	"AmazonSQSFullAccess":                         {"sqs:*"},
}

// managedGrant lists the permissions of a policy of AWS's, by its ARN or its name.
func managedGrant(at template.Pos, name string) (grants []Grant, err error) {
	actions, ok := ofAWS[name[strings.LastIndex(name, "/")+1:]]
	if !ok {
		return nil, &template.Error{Pos: at, Message: fmt.Sprintf("what the policy %s allows is not known", name)}
	}
	for _, action := range actions {
		grants = append(grants, Grant{action, "*", at, true})
	}
	return grants, nil
}

// samGrants lists the permissions of the role that SAM makes for a function: those of an SQS
// event, and those of Policies ("AWS SAM policy templates").
func samGrants(st *template.Stack, m Mapping) ([]Grant, error) {
	f := m.Function.Resource
	grants, _ := managedGrant(f.Pos, "AWSLambdaSQSQueueExecutionRole")
	policies := f.Get("Policies")
	if policies.Err != nil {
		return nil, policies.Err
	}
	list, err := policies.List()
	if err != nil {
		list = []template.Value{policies}
	}
	prefix := strings.TrimSuffix(m.Queue.ARN, m.Queue.Name)
	own, err := ofAll(list, func(p template.Value) ([]Grant, error) { return samPolicy(st, p, prefix) })
	return append(grants, own...), err
}

// samTemplates are SAM's policy templates for queues and keys, with the actions that they allow.
var samTemplates = map[string][]string{
	"SQSPollerPolicy":      {"sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessage", "sqs:DeleteMessageBatch", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
	"SQSSendMessagePolicy": {"sqs:SendMessage", "sqs:SendMessageBatch"},
	"KMSDecryptPolicy":     {"kms:Decrypt"},
}

func samPolicy(st *template.Stack, p template.Value, prefix string) (grants []Grant, err error) {
	if name, err := p.Str(); err == nil {
		if r, ok := st.Resource(name); ok { // a Ref
			return documentGrants(r.Get("PolicyDocument"))
		}
		return managedGrant(p.Pos, name)
	}
	if !p.Get("Statement").Absent() {
		return documentGrants(p)
	}
	for name, parameters := range p.Entries() {
		actions, ok := samTemplates[name]
		if !ok && strings.HasSuffix(name, "Policy") {
			continue // of another service
		}
		if !ok {
			return nil, &template.Error{Pos: p.Pos, Message: "what " + name + " allows is not known"}
		}
		on := "*"
		if name != "KMSDecryptPolicy" {
			queue, err := parameters.Get("QueueName").Str()
			if err != nil {
				return nil, err
			}
			on = prefix + queue
		}
		for _, action := range actions {
			grants = append(grants, Grant{action, on, p.Pos, true})
		}
	}
	return grants, p.Err
}

// documentGrants lists what a policy's statements allow.
func documentGrants(document template.Value) ([]Grant, error) {
	statements, err := statementsOf(document)
	if err != nil {
		return nil, err
	}
	return ofAll(statements, granted)
}

// statementsOf lists a policy's statements.
func statementsOf(document template.Value) ([]template.Value, error) {
	statement := document.Get("Statement")
	if statement.Err != nil {
		return nil, statement.Err
	}
	if statement.Absent() {
		return nil, &template.Error{Pos: document.Pos, Message: "the policy is not written as a mapping with Statement"}
	}
	if list, err := statement.List(); err == nil {
		return list, nil
	}
	return []template.Value{statement}, nil
}

// granted lists what a statement allows.
func granted(s template.Value) (grants []Grant, err error) {
	for name := range s.Entries() {
		if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource"}, name) {
			return nil, &template.Error{Pos: s.Pos, Message: "a statement with " + name + " is no plain permission"}
		}
	}
	if effect, err := s.Get("Effect").Str(); err != nil || effect != "Allow" {
		return nil, &template.Error{Pos: s.Pos, Message: "a statement that does not Allow is no plain permission"}
	}
	actions, err := texts(s.Get("Action"))
	if err != nil {
		return nil, err
	}
	resources, err := texts(s.Get("Resource"))
	for _, action := range actions {
		for _, resource := range resources {
			grants = append(grants, Grant{action, resource, s.Pos, false})
		}
	}
	return grants, err
}

// texts returns a text or a list of them, none if there is no value.
func texts(v template.Value) (list []string, err error) {
	if v.Absent() {
		return nil, nil
	}
	items, err := v.List()
	if err != nil {
		items = []template.Value{v}
	}
	for _, item := range items {
		s, err := item.Str()
		if attribute := template.Attribute(err); attribute != "" {
			s, err = "${"+attribute+"}", nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
