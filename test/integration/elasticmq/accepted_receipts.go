package main

import "regexp"

var allowedEntryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// acceptedOnReceipts are about deleting, changing visibility, and batches.
var acceptedOnReceipts = []acceptance{
	{
		name: "an empty batch", operations: batches, what: errorCode, ours: one("EmptyBatchRequest"), theirs: accepts,
		when:          func(d difference) bool { return len(d.operation.Messages)+len(d.operation.Receipts) == 0 },
		documentation: "API reference, SendMessageBatch and the others, Errors: EmptyBatchRequest, the batch request doesn't contain any entries.",
		right:         emulator,
	},
	{
		name: "ids of batch entries that are wrong", operations: batches, what: errorCode, ours: one("InvalidBatchEntryId"), theirs: accepts,
		when: func(d difference) bool {
			for _, m := range d.operation.Messages {
				if !allowedEntryID.MatchString(m.ID) {
					return true
				}
			}
			return ofReceipt(func(r receipt) bool { return !allowedEntryID.MatchString(r.ID) })(d)
		},
		diverges:      true,
		documentation: "API reference, SendMessageBatch and the others, Errors: InvalidBatchEntryId; SendMessageBatchRequestEntry: up to 80 alphanumeric characters, hyphens and underscores.",
		right:         emulator,
	},
	{
		name: "deleting once more", operations: deletes, what: errorCode, ours: accepts, theirs: one("ReceiptHandleIsInvalid"),
		when:          ofReceipt(func(r receipt) bool { return r.Handle == "" && !r.Elsewhere }),
		documentation: "API reference, DeleteMessage: deletes even if the message was received again, and a handle that is not the latest succeeds without deleting; a call must be safe to repeat, for at-least-once delivery asks for that.",
		right:         emulator,
	},
	{
		name: "deleting from a FIFO queue when the visibility timeout is over", operations: deletes, what: errorCode,
		ours: one("InvalidParameterValue"), theirs: []string{"", "ReceiptHandleIsInvalid"},
		when:          func(d difference) bool { return d.fifo },
		diverges:      true,
		documentation: "developer guide, Exactly-once processing in Amazon SQS, says nothing of it; AWS answers InvalidParameterValue, \"The receipt handle has expired\".",
		right:         neither,
	},
	{
		name: "a visibility over its bounds", operations: changes, what: errorCode, ours: one("InvalidParameterValue"), theirs: accepts,
		when:          ofReceipt(func(r receipt) bool { return r.Visibility < 0 || r.Visibility > 43200 }),
		diverges:      true,
		documentation: "API reference, ChangeMessageVisibility: the new value, 0 to 43,200 seconds.",
		right:         emulator,
	},
	{
		name: "the code for changing a message that is gone or was received again", operations: changes, what: errorCode,
		ours: one("InvalidParameterValue"), theirs: one("ReceiptHandleIsInvalid"),
		documentation: "API reference, ChangeMessageVisibility, Errors: MessageNotInflight and ReceiptHandleIsInvalid are both named, without saying which is for what. AWS answers InvalidParameterValue, \"Message does not exist or is not available for visibility timeout change\", and in a batch ReceiptHandleIsInvalid.",
		right:         neither,
	},
	{
		name: "changing a message of a FIFO queue that is not in flight", operations: changes, what: errorCode, ours: one("MessageNotInflight"), theirs: accepts,
		when:          func(d difference) bool { return d.fifo },
		diverges:      true,
		documentation: "API reference, ChangeMessageVisibility, Errors: MessageNotInflight.",
		right:         emulator,
	},
}
