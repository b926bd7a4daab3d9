package sqsevent

import (
	"encoding/json"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Failures returns the ids of the messages that Lambda must not delete, each once, in the
// order of the batch. The result is never nil.
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

// AppendResponse appends the partial batch response that reports failures to dst, as
// {"batchItemFailures":[{"itemIdentifier":"…"},…]}. The list is empty if there are no
// failures. See "Handling errors for an SQS event source in Lambda" in the AWS Lambda
// Developer Guide.
func AppendResponse(dst []byte, failures []string) []byte {
	dst = append(dst, `{"batchItemFailures":[`...)
	for i, id := range failures {
		if i > 0 {
			dst = append(dst, ',')
		}
		quoted, _ := json.Marshal(id) // marshaling a string never fails
		dst = append(dst, `{"itemIdentifier":`...)
		dst = append(append(dst, quoted...), '}')
	}
	return append(dst, `]}`...)
}
