package sqs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The quotas of the developer guide's "Amazon SQS policy quotas".
const (
	maxPolicyBytes      = 8192
	maxPolicyStatements = 20
	maxPolicyPrincipals = 50
	maxPolicyConditions = 10
	maxPolicyActions    = 7 // of a statement
)

var permissionLabel = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// policy is the Policy attribute. Its statements are kept as they are written:
// AddPermission and RemovePermission leave those of others alone.
type policy struct {
	Version   string       `json:",omitempty"`
	ID        string       `json:"Id,omitempty"`
	Statement oneOrMoreRaw `json:",omitempty"`
}

// statement is one that AddPermission writes.
type statement struct {
	Sid       string
	Effect    string
	Principal struct{ AWS oneOrMore }
	Action    oneOrMore
	Resource  string
}

// readStatement is what the quotas and the labels need of any statement.
type readStatement struct {
	Sid          string
	Action       oneOrMore
	NotAction    oneOrMore
	Principal    principals
	NotPrincipal principals
	Condition    map[string]map[string]json.RawMessage
}

// oneOrMore is a list that the policy language lets one write as its only item.
type oneOrMore []string

func (l oneOrMore) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]string(l))
}

func (l *oneOrMore) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*l = make(oneOrMore, 1)
		return json.Unmarshal(text, &(*l)[0])
	}
	return json.Unmarshal(text, (*[]string)(l))
}

type oneOrMoreRaw []json.RawMessage

func (l *oneOrMoreRaw) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		*l = oneOrMoreRaw{slices.Clone(text)}
		return nil
	}
	return json.Unmarshal(text, (*[]json.RawMessage)(l))
}

// principals are "*" or lists by kind of principal.
type principals []string

func (p *principals) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var byKind map[string]oneOrMore
		if err := json.Unmarshal(text, &byKind); err != nil {
			return err
		}
		for _, list := range byKind {
			*p = append(*p, list...)
		}
		return nil
	}
	return json.Unmarshal(text, (*oneOrMore)(p))
}

// canonicalPolicy checks the form of a Policy and its quotas, not whether its
// principals and actions exist: policies are not enforced.
func canonicalPolicy(name, value string) (string, *apiError) {
	invalid := func(reason string) (string, *apiError) {
		return "", modelled("InvalidAttributeValue", "Invalid value for the parameter %s. Reason: %s", name, reason)
	}
	if len(value) > maxPolicyBytes {
		return invalid("A policy has at most 8192 bytes.")
	}
	var parsed *policy
	if err := json.Unmarshal([]byte(value), &parsed); err != nil || parsed == nil {
		return invalid("A policy is a JSON object in the access policy language.")
	}
	if len(parsed.Statement) > maxPolicyStatements {
		return invalid("A policy has at most 20 statements.")
	}
	principals, conditions := 0, 0
	for _, raw := range parsed.Statement {
		var s *readStatement
		if err := json.Unmarshal(raw, &s); err != nil || s == nil {
			return invalid("A statement is not as the access policy language has it.")
		}
		if len(s.Action)+len(s.NotAction) > maxPolicyActions {
			return invalid("A statement has at most 7 actions.")
		}
		principals += len(s.Principal) + len(s.NotPrincipal)
		for _, keys := range s.Condition {
			conditions += len(keys)
		}
	}
	switch {
	case principals > maxPolicyPrincipals:
		return invalid("A policy has at most 50 principals.")
	case conditions > maxPolicyConditions:
		return invalid("A policy has at most 10 conditions.")
	}
	return value, nil
}

// labelled returns the place of the statement with that Sid, -1 for none.
func (p *policy) labelled(label string) int {
	return slices.IndexFunc(p.Statement, func(raw json.RawMessage) bool {
		var s readStatement
		return json.Unmarshal(raw, &s) == nil && s.Sid == label
	})
}

type addPermissionRequest struct {
	queueRequest
	Label         string
	Actions       []string
	AWSAccountIDs []string `json:"AWSAccountIds"`
}

func (in *addPermissionRequest) check() *apiError {
	switch {
	case in.Label == "":
		return errMissing("Label")
	case !permissionLabel.MatchString(in.Label):
		return errValue(in.Label, "Label", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	case len(in.Actions) == 0:
		return errMissing("Actions")
	case len(in.Actions) > maxPolicyActions:
		return modelled("OverLimit", "%d Actions were found, maximum allowed is %d.", len(in.Actions), maxPolicyActions)
	case len(in.AWSAccountIDs) == 0:
		return errMissing("AWSAccountIds")
	case len(in.AWSAccountIDs) > maxPolicyPrincipals:
		return modelled("OverLimit", "%d principals were found, maximum allowed is %d.", len(in.AWSAccountIDs), maxPolicyPrincipals)
	}
	for _, action := range in.Actions {
		if _, known := operations[action]; !known && action != "*" {
			return errValue("SQS:"+action, "ActionName", "Please refer to the appropriate WSDL for a list of valid actions.")
		}
	}
	for _, id := range in.AWSAccountIDs {
		if !accountPattern.MatchString(id) {
			return errValue(id, "PrincipalId", "Must be an account id of 12 digits.")
		}
	}
	return nil
}

// addPermission adds a statement to the queue's policy.
func (s *Server) addPermission(_ *call, in *addPermissionRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	added := statement{Sid: in.Label, Effect: "Allow"}
	for _, id := range in.AWSAccountIDs {
		added.Principal.AWS = append(added.Principal.AWS, "arn:aws:iam::"+id+":root")
	}
	for _, action := range in.Actions {
		added.Action = append(added.Action, "SQS:"+action)
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		p := q.policy()
		if p.labelled(in.Label) >= 0 {
			return nil, errValue(in.Label, "Label", "Already exists.")
		}
		added.Resource = q.arn
		p.Statement = append(p.Statement, json.RawMessage(mustJSON(added)))
		text := mustJSON(p)
		if _, err := canonicalPolicy("Policy", text); err != nil {
			_, reason, _ := strings.Cut(err.message, "Reason: ")
			return nil, modelled("OverLimit", "The permission cannot be added. Reason: %s", reason)
		}
		q.attributes["Policy"], q.modified = text, now
		return nothing{}, nil
	})
}

// policy returns the queue's policy, or the one that AddPermission begins with.
func (q *queue) policy() *policy {
	p := &policy{Version: "2008-10-17", ID: q.arn + "/SQSDefaultPolicy"}
	if text := q.attributes["Policy"]; text != "" {
		*p = policy{}
		_ = json.Unmarshal([]byte(text), p) // it was checked when it was set
	}
	return p
}

type removePermissionRequest struct {
	queueRequest
	Label string
}

// removePermission removes a statement; the last one takes the policy with it.
func (s *Server) removePermission(_ *call, in *removePermissionRequest) (any, error) {
	if in.Label == "" {
		return nil, errMissing("Label")
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		p := q.policy()
		at := p.labelled(in.Label)
		if at < 0 {
			return nil, errValue(in.Label, "Label", "can't find label.")
		}
		q.modified = now
		if p.Statement = slices.Delete(p.Statement, at, at+1); len(p.Statement) == 0 {
			delete(q.attributes, "Policy")
		} else {
			q.attributes["Policy"] = mustJSON(p)
		}
		return nothing{}, nil
	})
}
