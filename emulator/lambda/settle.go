package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// invoke runs the function over b and settles what came of it.
func (p *poller) invoke(ctx context.Context, env *environment, b *batch, run *groupRun) {
	inv := newInvocation(b.payload())
	told := Invocation{
		RequestID:   inv.id,
		Environment: env.number,
		ColdStart:   env.cold(),
		Started:     time.Now(),
		Records:     b.records(),
	}
	p.tellStarted(told)
	result, _ := p.Function.run(env, inv) // its error is in Result.Error as well
	left, why := p.judge(result, b)
	verdicts := p.deleteSucceeded(ctx, b, left)
	p.tellEnded(Ended{Invocation: told, Result: result, AllFailed: why, Verdicts: verdicts})
	run.end(b, left)
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
	if len(response) == 0 || bytes.Equal(response, []byte("null")) {
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
			return nil, fmt.Sprintf("batchItemFailures[%d].itemIdentifier %q is no message of the batch", i, *id)
		}
		failed[*id] = true
	}
	return failed, ""
}
