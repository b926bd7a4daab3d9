package model

// assumptions returns what the report rests on that AWS does not document, or that the model leaves out.
func (s *sim) assumptions() []string {
	list := []string{
		"Calls to SQS take no time and do not fail. A receive returns all visible messages that it asks for: SQS samples its servers, so a short queue may need more receives.",
		"SQS delivers the messages of a standard queue in the order in which they became visible, and none of them twice.",
		"Messages arrive by chance, independent of each other, at the given rate. Handlers respect the end of their contexts, except those that hang.",
		"GetQueueAttributes, one call of a process in five minutes with failures, is not counted.",
	}
	if s.s.Mapping == nil {
		return append(list, s.tasks.assumptions()...)
	}
	if s.s.Mapping.Pollers > 0 {
		list = append(list, "The number of receives that are open is fixed: Lambda would change it.")
	} else {
		list = append(list,
			"While messages wait and all invocations are busy, Lambda adds 5 a second, which are the documented 300 a minute. Each minute it goes back to the number that was in use.",
			"A throttled batch waits for a free environment, first come, first served, until its visibility timeout ends. Meanwhile Lambda goes on receiving, up to its number of batches, which does not grow then. AWS documents that it makes fewer invocations for a while after errors and throttling, but not how many: the model does not.")
	}
	return append(list,
		"An idle execution environment is kept for 10 minutes. AWS does not document a time.",
		"Of the payload of 6 MB, each record takes 640 bytes besides the message.")
}
