package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// roleOf returns the role of a mapping's function, with its permissions. It returns an error
// if the role is not in the template.
func roleOf(st *template.Stack, m Mapping, policies attachments) (Role, error) {
	f := m.Function.Resource
	role := newRole(st, m.Queue, f.Pos, policies)
	role.Needs, role.foreign, role.caller = OfFunction, isForeign(f), delivery{service: "lambda.amazonaws.com", st: st}
	if f.Type == template.SAMFunction && f.Get("Role").Absent() {
		role.Resource, role.name = f, "the role of function "+f.ID
		role.Grants = append(role.Grants, samGrants(st, m)...)
		return role, nil
	}
	return role.of(st, f.Get("Role"), policies)
}

// of returns the role with the permissions of the template's role that v names. It returns an
// error if that is not in the template.
func (role Role) of(st *template.Stack, v template.Value, policies attachments) (Role, error) {
	id, attribute := nameOf(v)
	r, ok := st.Resource(id)
	if role.Resource = r; !ok || !attribute && r.Type != "AWS::IAM::Role" { // ECS takes the name, which a Ref is
		_, err := v.Str()
		return Role{}, cmp.Or(err, error(&template.Error{Pos: v.Pos, Message: "the role is not in the template"}))
	}
	for _, a := range policies.admitted {
		if a.to(role.Resource) {
			role.Grants = append(role.Grants, a.grant)
		}
	}
	role.Grants = append(role.Grants, policies.grants(role.Resource)...)
	return role, nil
}

// newRole returns a role for a queue, with the permissions that do not depend on the role.
func newRole(st *template.Stack, q template.Queue, at template.Pos, policies attachments) Role {
	region, account := st.Where()
	role := Role{ARNs: map[string]string{OnQueue: q.ARN}, key: keyOf(st, q), placed: region != "" && account != ""}
	if q.DeadLetterARN != "" {
		role.ARNs[OnDeadLetters] = q.DeadLetterARN
	}
	if policies.others != "" {
		role.Grants = append(role.Grants, anything(at, errors.New(policies.others)))
	}
	return role
}

// isForeign reports whether a function has a runtime of another language than Go.
func isForeign(f template.Resource) bool {
	runtime, err := f.Get("Runtime").Str()
	if method, _ := f.Metadata("BuildMethod").Str(); strings.HasPrefix(method, "rust-") { // of SAM
		return true
	}
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

// grants lists the permissions of a role: of its own statements, of policies of the template that
// are attached to it, and of a few of AWS's policies.
func (a attachments) grants(role template.Resource) []Grant {
	grants := a.to(role)
	policies := role.Get("Policies")
	list, err := policies.List()
	if err != nil {
		grants = append(grants, anything(policies.Pos, err))
	}
	for _, p := range list {
		if p.Err != nil {
			grants = append(grants, anything(p.Pos, p.Err))
			continue
		}
		grants = append(grants, documentGrants(p.Get("PolicyDocument"))...)
	}
	arns := role.Get("ManagedPolicyArns")
	names, err := patterns(arns)
	if err != nil {
		grants = append(grants, anything(arns.Pos, err))
	}
	for _, name := range names {
		grants = append(grants, managedGrant(arns.Pos, name)...)
	}
	return grants
}

// attachments are the policies of a template that name their roles.
type attachments struct {
	err      error // why they are not known
	list     []attachment
	admitted []admission // by policies of queues
	others   string      // what else may give a role permissions, "" for nothing
}

// An admission is what the policy of a queue may allow someone.
type admission struct {
	principal string
	grant     Grant
}

// to reports whether a role is meant.
func (a admission) to(role template.Resource) bool {
	name, _ := role.Get("RoleName").Str()
	return a.principal == "*" || a.principal == "${"+role.ID+".Arn}" || name != "" && strings.Contains(a.principal, ":role/") && strings.HasSuffix(a.principal, "/"+name)
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
			if effect, _ := s.Get("Effect").Str(); effect != "Allow" {
				continue
			}
			names, _ := texts(s.Get("Principal", "AWS"))
			why := errors.New("the policy of a queue names the role")
			if everyone(s.Get("Principal")) {
				names, why = []string{"*"}, errors.New("the policy of a queue names everyone")
			}
			for _, name := range names {
				for _, g := range granted(s) {
					g.Managed, g.May = true, why
					a.admitted = append(a.admitted, admission{name, g})
				}
			}
		}
	}
}

// to lists the permissions of policies that name the role.
func (a attachments) to(role template.Resource) (grants []Grant) {
	if a.err != nil {
		grants = append(grants, anything(role.Pos, a.err))
	}
	name, err := role.Get("RoleName").Str()
	for _, p := range a.list {
		named := slices.Contains(p.roles, role.ID) || name != "" && slices.Contains(p.roles, name)
		if !named && err == nil && p.err == nil {
			continue
		}
		for _, g := range documentGrants(p.policy.Get("PolicyDocument")) {
			if !named {
				g.May = &template.Error{Pos: p.policy.Pos, Message: "there is also the policy " + p.policy.ID + ", whose roles are not known"}
			}
			grants = append(grants, g)
		}
	}
	return grants
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

// KnowsPolicy reports whether the rules know what a policy of AWS's allows, by its ARN or its name.
func KnowsPolicy(name string) bool {
	_, ok := policyOfAWS(name)
	return ok
}

func policyOfAWS(name string) (actions []string, ok bool) {
	actions, ok = ofAWS[name[strings.LastIndex(name, "/")+1:]]
	return actions, ok
}

// managedGrant lists the permissions of a policy of AWS's, by its ARN or its name.
func managedGrant(at template.Pos, name string) (grants []Grant) {
	actions, ok := policyOfAWS(name)
	if !ok {
		return []Grant{anything(at, &template.Error{Pos: at, Message: fmt.Sprintf("what the policy %s allows is not known", name)})}
	}
	for _, action := range actions {
		grants = append(grants, Grant{action, "*", at, true, nil})
	}
	return grants
}

// samGrants lists the permissions of the role that SAM makes for a function: those of an SQS
// event, and those of Policies ("AWS SAM policy templates").
func samGrants(st *template.Stack, m Mapping) []Grant {
	f := m.Function.Resource
	grants := managedGrant(f.Pos, "AWSLambdaSQSQueueExecutionRole")
	policies := f.Get("Policies")
	if policies.Absent() {
		return grants
	}
	list, err := policies.List()
	if err != nil {
		list = []template.Value{policies}
	}
	prefix := strings.TrimSuffix(m.Queue.ARN, m.Queue.Name)
	for _, p := range list {
		grants = append(grants, samPolicy(st, p, prefix)...)
	}
	return grants
}

// samTemplates are SAM's policy templates for queues and keys, with the actions that they allow.
var samTemplates = map[string][]string{
	"SQSPollerPolicy":      {"sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessage", "sqs:DeleteMessageBatch", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
	"SQSSendMessagePolicy": {"sqs:SendMessage", "sqs:SendMessageBatch"},
	"KMSDecryptPolicy":     {"kms:Decrypt"},
}

func samPolicy(st *template.Stack, p template.Value, prefix string) (grants []Grant) {
	if p.Err != nil {
		return []Grant{anything(p.Pos, p.Err)}
	}
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
			grants = append(grants, anything(p.Pos, &template.Error{Pos: p.Pos, Message: "what " + name + " allows is not known"}))
		}
		on, unknown := "*", error(nil)
		if ok && name != "KMSDecryptPolicy" {
			queue, err := parameters.Get("QueueName").Str()
			if on = prefix + queue; err != nil {
				on, unknown = "*", err
			}
		}
		for _, action := range actions {
			grants = append(grants, Grant{action, on, p.Pos, true, unknown})
		}
	}
	return grants
}

// documentGrants lists what a policy's statements allow.
func documentGrants(document template.Value) (grants []Grant) {
	statements, err := statementsOf(document)
	if err != nil {
		return []Grant{anything(document.Pos, err)}
	}
	for _, s := range statements {
		grants = append(grants, granted(s)...)
	}
	return grants
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

// granted lists what a statement allows, or may allow.
func granted(s template.Value) (grants []Grant) {
	if s.Err != nil {
		return []Grant{anything(s.Pos, s.Err)}
	}
	var may error
	for name := range s.Entries() {
		if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource"}, name) {
			may = &template.Error{Pos: s.Pos, Message: "a statement with " + name + " is no plain permission"}
		}
	}
	effect, err := s.Get("Effect").Str()
	if err != nil || effect != "Allow" {
		may = &template.Error{Pos: s.Pos, Message: "a statement that does not Allow is no plain permission"}
		grants = append(grants, Grant{"", "", s.Pos, false, may})
	}
	if err == nil && effect != "Allow" {
		return grants
	}
	add := func(actions, resources []string, may error) {
		for _, action := range actions {
			for _, resource := range resources {
				grants = append(grants, Grant{action, resource, s.Pos, false, may})
			}
		}
	}
	every := []string{"*"}
	actions, unknownAction := patterns(s.Get("Action"))
	resources, unknownResource := patterns(s.Get("Resource"))
	if s.Get("Action").Absent() {
		unknownAction = may // NotAction
	}
	if s.Get("Resource").Absent() {
		unknownResource = may // NotResource
	}
	add(actions, resources, may)
	if unknownAction != nil {
		add(every, resources, unknownAction)
	}
	if unknownResource != nil {
		add(actions, every, unknownResource)
	}
	if unknownAction != nil && unknownResource != nil {
		add(every, every, unknownAction)
	}
	return grants
}

// oneOrMany lists the elements of a list, or the only value, none if there is none.
func oneOrMany(v template.Value) []template.Value {
	if v.Absent() {
		return nil
	}
	items, err := v.List()
	if err != nil {
		return []template.Value{v}
	}
	return items
}

// patterns lists the texts of a list, or the only one, that are known. The error says why others
// are not.
func patterns(v template.Value) (list []string, unknown error) {
	for _, item := range oneOrMany(v) {
		known, err := texts(item)
		list, unknown = append(list, known...), cmp.Or(unknown, err)
	}
	return list, unknown
}

// texts returns a text or a list of them, none if there is no value.
func texts(v template.Value) (list []string, err error) {
	for _, item := range oneOrMany(v) {
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
