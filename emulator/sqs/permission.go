package sqs

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"
)

// maxPolicyActions is the largest number of actions in a statement (developer guide, "Amazon
// SQS policy quotas").
const maxPolicyActions = 7

var permissionLabel = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// policy is a Policy attribute that AddPermission and RemovePermission can change, because its
// Statement is a list. They do not change other statements.
type policy struct {
	Version   string            `json:",omitempty"`
	ID        string            `json:"Id,omitempty"`
	Statement []json.RawMessage `json:",omitempty"`
}

// statement is a statement of AddPermission.
type statement struct {
	Sid       string
	Effect    string
	Principal struct{ AWS oneOrMany }
	Action    oneOrMany
	Resource  string
}

// oneOrMany is a list that AWS writes as a string if it has one element.
type oneOrMany []string

// MarshalJSON implements [json.Marshaler].
func (list oneOrMany) MarshalJSON() ([]byte, error) {
	if len(list) == 1 {
		return json.Marshal(list[0])
	}
	return json.Marshal([]string(list))
}

// canonicalPolicy accepts any JSON object and keeps it unchanged. Policies are not enforced.
func canonicalPolicy(name, value string) (string, *apiError) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil || object == nil {
		return "", modelled("InvalidAttributeValue", "Invalid value for the parameter %s. Reason: A policy is a JSON object.", name)
	}
	return value, nil
}

// policy returns the queue's policy, or an empty one.
func (q *queue) policy() (*policy, *apiError) {
	text := q.attributes["Policy"]
	if text == "" {
		return &policy{Version: "2008-10-17", ID: q.arn + "/SQSDefaultPolicy"}, nil
	}
	p := &policy{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, errInvalidParameter("The emulator changes only policies whose Statement is a list: %v.", err)
	}
	return p, nil
}

// labelled returns the place of the statement with that Sid, -1 for none.
func (p *policy) labelled(label string) int {
	return slices.IndexFunc(p.Statement, func(raw json.RawMessage) bool {
		var s struct{ Sid string }
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
	}
	for _, action := range in.Actions {
		if _, known := operations[action]; !known && action != "*" {
			return errValue("SQS:"+action, "ActionName", "Please refer to the appropriate WSDL for a list of valid actions.")
		}
	}
	return nil
}

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
		p, err := q.policy()
		if err != nil {
			return nil, err
		}
		if p.labelled(in.Label) >= 0 {
			return nil, errValue(in.Label, "Label", "Already exists.")
		}
		added.Resource = q.arn
		p.Statement = append(p.Statement, encode(added))
		q.attributes["Policy"], q.modified = string(encode(p)), now
		return nothing{}, nil
	})
}

type removePermissionRequest struct {
	queueRequest
	Label string
}

// removePermission removes a statement, and a policy that has no other.
func (s *Server) removePermission(_ *call, in *removePermissionRequest) (any, error) {
	if in.Label == "" {
		return nil, errMissing("Label")
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		p, err := q.policy()
		if err != nil {
			return nil, err
		}
		at := p.labelled(in.Label)
		if at < 0 {
			return nil, errValue(in.Label, "Label", "can't find label.")
		}
		q.modified = now
		if p.Statement = slices.Delete(p.Statement, at, at+1); len(p.Statement) == 0 {
			delete(q.attributes, "Policy")
		} else {
			q.attributes["Policy"] = string(encode(p))
		}
		return nothing{}, nil
	})
}
