package sqs

// operations has every operation of the service by its name in X-Amz-Target.
var operations map[string]operation

// Some operations need the names of operations, so this cannot be the variable's initial
// value.
func init() {
	operations = map[string]operation{
		"AddPermission":                handle((*Server).addPermission),
		"CancelMessageMoveTask":        handle((*Server).cancelMessageMoveTask),
		"ChangeMessageVisibility":      handle((*Server).changeMessageVisibility),
		"ChangeMessageVisibilityBatch": handle((*Server).changeMessageVisibilityBatch),
		"CreateQueue":                  handle((*Server).createQueue),
		"DeleteMessage":                handle((*Server).deleteMessage),
		"DeleteMessageBatch":           handle((*Server).deleteMessageBatch),
		"DeleteQueue":                  handle((*Server).deleteQueue),
		"GetQueueAttributes":           handle((*Server).getQueueAttributes),
		"GetQueueUrl":                  handle((*Server).getQueueURL),
		"ListDeadLetterSourceQueues":   handle((*Server).listDeadLetterSourceQueues),
		"ListMessageMoveTasks":         handle((*Server).listMessageMoveTasks),
		"ListQueueTags":                handle((*Server).listQueueTags),
		"ListQueues":                   handle((*Server).listQueues),
		"PurgeQueue":                   handle((*Server).purgeQueue),
		"ReceiveMessage":               handle((*Server).receiveMessage),
		"RemovePermission":             handle((*Server).removePermission),
		"SendMessage":                  handle((*Server).sendMessage),
		"SendMessageBatch":             handle((*Server).sendMessageBatch),
		"SetQueueAttributes":           handle((*Server).setQueueAttributes),
		"StartMessageMoveTask":         handle((*Server).startMessageMoveTask),
		"TagQueue":                     handle((*Server).tagQueue),
		"UntagQueue":                   handle((*Server).untagQueue),
	}
}

// nothing is the answer of operations that return no data.
type nothing struct{}
