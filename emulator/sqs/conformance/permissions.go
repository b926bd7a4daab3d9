package main

import (
	"encoding/json"
	"fmt"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

func (q *queue) permit(label string, actions ...string) error {
	return errOf(q.AddPermission(q.ctx, &awssqs.AddPermissionInput{
		QueueUrl: q.url, Label: &label, Actions: actions, AWSAccountIds: []string{q.account()}}))
}

// statements returns the policy's statements by their Sid.
func (q *queue) statements() map[string]string {
	var policy struct{ Statement []json.RawMessage }
	text := q.attributes()["Policy"]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		q.fail("attribute Policy: want a policy in JSON, got %s", show(text))
	}
	all := map[string]string{}
	for _, raw := range policy.Statement {
		var statement struct{ Sid string }
		if err := json.Unmarshal(raw, &statement); err != nil {
			q.fail("attribute Policy: want statements that are objects, got %s", show(text))
		}
		all[statement.Sid] = string(raw)
	}
	return all
}

// hasStatements waits until the policy has exactly the statements of these Sids.
func (q *queue) hasStatements(sids ...string) {
	q.eventually(fmt.Sprintf("a policy with the statements %v", sids), func() (string, bool) {
		all := q.statements()
		ok := len(all) == len(sids)
		for _, sid := range sids {
			_, found := all[sid]
			ok = ok && found
		}
		return fmt.Sprint(all), ok
	})
}

var permissionChecks = []Check{
	check("permissions/add", api("AddPermission"), "AddPermission makes a statement of the queue's policy: its label, the account and the actions.", func(e *env) {
		q := e.queue()
		e.must("AddPermission", q.permit("Conformance-1_a", "SendMessage", "ReceiveMessage"))
		q.hasStatements("Conformance-1_a")
		statement := q.statements()["Conformance-1_a"]
		for _, part := range []string{"Allow", q.account(), "SendMessage", "ReceiveMessage", q.arn()} {
			if !strings.Contains(strings.ToLower(statement), strings.ToLower(part)) {
				e.fail("statement: want %s in it, got %s", part, statement)
			}
		}
	}),
	check("permissions/add-second", api("AddPermission"), "A second permission is added to the first.", func(e *env) {
		q := e.queue()
		e.must("AddPermission", q.permit("first", "SendMessage"))
		q.hasStatements("first")
		e.must("AddPermission", q.permit("second", "*"))
		q.hasStatements("first", "second")
	}),
	check("permissions/remove", api("RemovePermission"), "RemovePermission removes the statement of its label, and no other.", func(e *env) {
		q := e.queue()
		e.must("AddPermission", q.permit("first", "SendMessage"))
		q.hasStatements("first")
		e.must("AddPermission", q.permit("second", "SendMessage"))
		q.hasStatements("first", "second")
		label := "first"
		must(e.RemovePermission(e.ctx, &awssqs.RemovePermissionInput{QueueUrl: q.url, Label: &label}))
		q.hasStatements("second")
	}),
	check("permissions/label", api("AddPermission"), "A label has 80 letters, digits, hyphens and underscores at most.", func(e *env) {
		q := e.queue()
		e.must("AddPermission with a label of 80", q.permit(strings.Repeat("l", 80), "SendMessage"))
		e.refused("AddPermission with a label of 81", q.permit(strings.Repeat("m", 81), "SendMessage"))
		e.refused("AddPermission with a space in the label", q.permit("a b", "SendMessage"))
	}).reading(),
	check("permissions/action", api("AddPermission"), "The actions of AddPermission are names of actions, or *.", func(e *env) {
		e.refused("AddPermission of FlyToTheMoon", e.queue().permit("label", "FlyToTheMoon"))
	}),
	check("permissions/seven-actions", api("AddPermission"), "A statement has seven actions at most.", func(e *env) {
		q := e.queue()
		actions := []string{"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility",
			"GetQueueAttributes", "GetQueueUrl", "PurgeQueue", "ListDeadLetterSourceQueues"}
		e.must("AddPermission with seven actions", q.permit("seven", actions[:7]...))
		e.refused("AddPermission with eight actions", q.permit("eight", actions...))
	}),
}
