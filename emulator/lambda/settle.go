package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// begun is an invocation of the mapping.
type begun struct {
	*batch
	env  *environment
	inv  *invocation
	told Invocation
	run  *groupRun
}

// begin prepares b's invocation and reports it, in the order of the receives.
func (p *poller) begin(env *environment, b *batch) begun {
	i := begun{batch: b, env: env, inv: newInvocation(b.payload()), run: p.lockGroups(b)}
	i.told = Invocation{
		RequestID:   i.inv.id,
		Environment: env.number,
		ColdStart:   env.cold(),
		Started:     time.Now(),
		Records:     b.records(),
	}
	tell(p.work, p.Started, i.told)
	return i
}

// invoke runs the function and settles what came of it.
func (p *poller) invoke(ctx context.Context, i begun) {
	result, _ := p.Function.run(i.env, i.inv) // its error is in Result.Error as well
	left, why := p.judge(result, i.batch)
	verdicts := p.deleteSucceeded(ctx, i.batch, left)
	tell(p.work, p.Ended, Ended{Invocation: i.told, Result: result, AllFailed: why, Verdicts: verdicts})
	i.run.end(i.batch, left)
}

// judge says for each of b's messages whether it stays in the queue, and why
// when all do.
func (p *poller) judge(result Result, b *batch) (left []bool, why string) {
	left = make([]bool, len(b.messages))
	var failed map[string]bool
	switch {
	case result.Error != nil:
		why = "function error " + result.Error.Error()
	case p.ReportBatchItemFailures:
		failed, why = itemFailures(result.Payload, b)
	}
	for i, m := range b.messages {
		left[i] = why != "" || failed[m.MessageID]
	}
	return left, why
}

// itemFailures reads a response by the rules of "Handling errors for an SQS
// event source in Lambda", Success and failure conditions. It returns the
// message ids that failed, or why all of them count as failed. Names are
// compared exactly, case included.
func itemFailures(response []byte, b *batch) (failed map[string]bool, all string) {
	response = bytes.TrimSpace(response)
	switch string(response) {
	case "", "null", `{"batchItemFailures":[]}`: // the last as Go writes it: the usual answer
		return nil, ""
	}
	if !json.Valid(response) {
		return nil, "the response is not valid JSON"
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(response, &doc); err != nil {
		return nil, "the response is not a JSON object"
	}
	var items []json.RawMessage
	if list, ok := doc["batchItemFailures"]; ok && json.Unmarshal(list, &items) != nil {
		return nil, "batchItemFailures is not a list"
	}
	known := make(map[string]bool, len(b.messages))
	for _, m := range b.messages {
		known[m.MessageID] = true
	}
	failed = make(map[string]bool, len(items))
	for i, item := range items {
		var fields map[string]json.RawMessage
		if json.Unmarshal(item, &fields) != nil || fields == nil {
			return nil, fmt.Sprintf("batchItemFailures[%d] is not an object", i)
		}
		raw, ok := fields["itemIdentifier"]
		if !ok {
			return nil, fmt.Sprintf("batchItemFailures[%d] has no itemIdentifier", i)
		}
		var id *string
		switch {
		case json.Unmarshal(raw, &id) != nil:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is not a string", i)
		case id == nil:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is null", i)
		case *id == "":
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier is empty", i)
		case !known[*id]:
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier %q is not a message of the batch", i, *id)
		}
		failed[*id] = true
	}
	return failed, ""
}
