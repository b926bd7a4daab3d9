package partialfailure

import (
	"encoding/json"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Failures returns the message ids that Lambda must not delete, in the order
// of the batch, each once. Never nil.
func Failures(results []batch.Result) []string {
	ids, seen := []string{}, map[string]bool{}
	for i := range results {
		if results[i].Outcome.Done() {
			continue
		}
		id := results[i].Record.MessageID
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// AppendResponse appends the partial batch response that reports failures to
// dst: {"batchItemFailures":[{"itemIdentifier":"…"},…]}, with an empty list
// for none. See "Handling errors for an SQS event source in Lambda" in the AWS
// Lambda Developer Guide.
func AppendResponse(dst []byte, failures []string) []byte {
	dst = append(dst, `{"batchItemFailures":[`...)
	for i, id := range failures {
		if i > 0 {
			dst = append(dst, ',')
		}
		quoted, _ := json.Marshal(id) // a string always marshals
		dst = append(dst, `{"itemIdentifier":`...)
		dst = append(append(dst, quoted...), '}')
	}
	return append(dst, `]}`...)
}
