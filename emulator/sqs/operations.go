package sqs

// operations has every operation of the service by its name in X-Amz-Target;
// nil is one that the emulator does not implement.
var operations = map[string]operation{
	"AddPermission":                nil,
	"CancelMessageMoveTask":        nil,
	"ChangeMessageVisibility":      handle((*Server).changeMessageVisibility),
	"ChangeMessageVisibilityBatch": handle((*Server).changeMessageVisibilityBatch),
	"CreateQueue":                  handle((*Server).createQueue),
	"DeleteMessage":                handle((*Server).deleteMessage),
	"DeleteMessageBatch":           handle((*Server).deleteMessageBatch),
	"DeleteQueue":                  handle((*Server).deleteQueue),
	"GetQueueAttributes":           handle((*Server).getQueueAttributes),
	"GetQueueUrl":                  handle((*Server).getQueueURL),
	"ListDeadLetterSourceQueues":   handle((*Server).listDeadLetterSourceQueues),
	"ListMessageMoveTasks":         nil,
	"ListQueueTags":                handle((*Server).listQueueTags),
	"ListQueues":                   handle((*Server).listQueues),
	"PurgeQueue":                   handle((*Server).purgeQueue),
	"ReceiveMessage":               handle((*Server).receiveMessage),
	"RemovePermission":             nil,
	"SendMessage":                  handle((*Server).sendMessage),
	"SendMessageBatch":             handle((*Server).sendMessageBatch),
	"SetQueueAttributes":           handle((*Server).setQueueAttributes),
	"StartMessageMoveTask":         nil,
	"TagQueue":                     handle((*Server).tagQueue),
	"UntagQueue":                   handle((*Server).untagQueue),
}

// nothing is the answer of operations that return no data.
type nothing struct{}
