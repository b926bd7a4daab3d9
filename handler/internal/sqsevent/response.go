package sqsevent

import (
	"encoding/json"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Response returns the partial batch response,
// {"batchItemFailures":[{"itemIdentifier":"…"},…]}, and the number of its items: the messages
// that Lambda must not delete, each once, in the order of the batch. See "Handling errors for
// an SQS event source in Lambda" in the AWS Lambda Developer Guide.
func Response(results []batch.Result) (response []byte, failures int) {
	response = append(response, `{"batchItemFailures":[`...)
	seen := map[string]bool{}
	for i := range results {
		id := results[i].Record.MessageID
		if results[i].Outcome.Done() || seen[id] {
			continue
		}
		if len(seen) > 0 {
			response = append(response, ',')
		}
		seen[id] = true
		quoted, _ := json.Marshal(id) // marshaling a string never fails
		response = fmt.Appendf(response, `{"itemIdentifier":%s}`, quoted)
	}
	return append(response, `]}`...), len(seen)
}
