package partialfailure

import "github.com/sqsbatch/sqsbatch/internal/sqserror"

// said is a text in two forms: as it is told on Lambda, and in a container, where
// the settler serves a long poll and its user has other things to set right.
type said struct{ lambda, container string }

// alike is a text that is the same in both.
func alike(text string) said { return said{text, text} }

// say chooses the form.
func (st *Settlement) say(s said) string {
	if st.cfg.Delete == DeleteAlways {
		return s.container
	}
	return s.lambda
}

// costs says what a failed operation means for the records.
var costs = map[string]said{
	opVisibility: {
		"failed records come back after the queue's visibility timeout instead of their backoff",
		"failed records come back when their visibility (Visibility; with package handler: SQSBATCH_VISIBILITY) is over, instead of after their backoff",
	},
	opSend: alike("permanent failures stay in the queue and are retried"),
	opDelete: {
		"records that succeeded will be delivered again",
		"records that were handled will be delivered again, unless a later try deletes them",
	},
	opAttributes: alike("the dead-letter queue and maxReceiveCount are unknown: permanent failures are retried, and nothing warns of last attempts, or of the end of the retention"),
}

// staleCosts is what it means for the record, whatever the operation.
var staleCosts = alike("it may be with another receiver, or come back")

// Advice about what went wrong; {op} is the permission, {queue} where it was called.
var (
	saysOwnQueue     = alike("the dead-letter queue {queue} is the queue that the records come from: nothing is sent there")
	saysNoDeadLetter = alike("there is no dead-letter queue: give the queue a RedrivePolicy, or set DeadLetterQueue; OnPermanent \"retry\" or \"drop\" says that this is as it should be (with package handler: SQSBATCH_DEAD_LETTER_QUEUE, SQSBATCH_ON_PERMANENT)")
	saysNoARN        = alike("the records' eventSourceARN names no queue")
	saysNoQueue      = alike("there is no queue {queue}: is its URL or ARN right?")
	saysIncomplete   = alike("SQS's answer is incomplete")
	saysThrottled    = alike(sqserror.SaysThrottled)
	saysExpired      = alike(sqserror.SaysExpired)
	saysCredentials  = alike(sqserror.SaysCredentials)
	saysTrouble      = alike("SQS has an error of its own")
	saysRefused      = alike(sqserror.SaysRefused)

	saysKey = said{
		"the queue's key cannot be used: is it enabled, and does it allow the function's role kms:GenerateDataKey and kms:Decrypt?",
		"the queue's key cannot be used: is it enabled, and does it allow the role of this process kms:GenerateDataKey and kms:Decrypt?",
	}
	saysDenied = said{
		"the function's role lacks {op} on {queue}",
		"the role of this process lacks {op} on {queue}",
	}
	// The causes that SQS does not tell apart, the likeliest first.
	saysStale = said{
		"SQS does not take the record's receipt handle any more: its visibility timeout was over before its handler was done (AWS advises 6 × the function's timeout), " +
			"or it was deleted meanwhile, or the queue was purged or made anew",
		"SQS does not take the record's receipt handle any more: its visibility was over and others may have it (was this process suspended, or SQS out of reach, for as long as Visibility, with package handler SQSBATCH_VISIBILITY?), " +
			"or it was deleted meanwhile, or the queue was purged or made anew, or its server restarted",
	}
	saysNoAnswer = said{
		"no answer from SQS within {timeout}: a function in a VPC needs a route to it (VPC endpoint or NAT)",
		"no answer from SQS within {timeout}: is it slow or down, or is there no route to it?",
	}
)

// What a dead-letter queue does to a record's age.
var (
	saysClockGoesOn = alike("Its age counts on in a dead-letter queue: that one's retention must be longer")
	saysClockBegins = alike("Its age begins anew in a FIFO dead-letter queue")
)

// What is left when the time was over before SQS had answered everything.
var (
	saysNoBackoff = said{
		"records whose backoff was not set come back after the queue's visibility timeout",
		"records whose backoff was not set come back when their visibility (Visibility; with package handler: SQSBATCH_VISIBILITY) is over",
	}
	saysUndeleted = costs[opDelete]
	saysNothing   = alike("no record is concerned")
	saysLate      = said{
		"Raise the reserve (Reserve; with package handler: SQSBATCH_RESERVE) or the function's timeout, or look why SQS is slow to answer",
		"Look why SQS is slow to answer",
	}
)
