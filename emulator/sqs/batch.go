package sqs

import "slices"

// maxBatch is the largest number of entries of a batch.
const maxBatch = 10

// validEntryID reports whether an entry's id matches ^[A-Za-z0-9_-]{1,80}$.
func validEntryID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 80
}

// batchAnswer is the answer to the three batch calls: a result or a failure for each entry,
// with HTTP status 200.
type batchAnswer struct {
	successful []plainAnswer
	failed     []batchFailure
}

type batchFailure struct {
	id  string
	err *apiError
}

// batchID is the result of an entry of a delete or visibility batch: only its id.
type batchID string

func newBatchAnswer(entries int) *batchAnswer {
	return &batchAnswer{successful: make([]plainAnswer, 0, entries)}
}

func (a *batchAnswer) add(c *call, id string, result plainAnswer, err *apiError) {
	c.messages++
	if err == nil {
		a.successful = append(a.successful, result)
		return
	}
	c.failed++
	a.failed = append(a.failed, batchFailure{id, err})
}

// checkBatch returns the error of a batch that fails as a whole.
func checkBatch[E any](entries []E, nameOf func(E) string) *apiError {
	if len(entries) == 0 {
		return modelled("EmptyBatchRequest", "There should be at least one entry in the request.")
	}
	if len(entries) > maxBatch {
		return modelled("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(entries))
	}
	for i, e := range entries {
		switch id := nameOf(e); {
		case !validEntryID(id):
			return modelled("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		case slices.ContainsFunc(entries[:i], func(other E) bool { return nameOf(other) == id }):
			return modelled("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}
	}
	return nil
}
