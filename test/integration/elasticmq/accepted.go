package main

import (
	"slices"
	"strconv"
	"strings"
)

// acceptance is a difference that is known and explained. It covers one thing
// about few operations, under one condition, so that nothing else hides behind it.
type acceptance struct {
	name       string
	operations []string
	// what is difference.what, and ours and theirs are what the two answered.
	what         []string
	ours, theirs []string // nil: whatever it was
	// when narrows it to the operations, or the entry of a batch, that ask for
	// it. nil: the rest says it all.
	when func(difference) bool
	// diverges says that the queues are in different states from there on, so
	// that the rest of the sequence cannot be compared.
	diverges bool
	// documentation is what AWS's says, with the page's name; right is who keeps to it.
	documentation string
	right         string
}

const (
	emulator = "the emulator"
	neither  = "nobody: AWS's documentation does not say"
)

func (e acceptance) covers(d difference) bool {
	return slices.Contains(e.operations, d.operation.Name) && slices.Contains(e.what, d.what()) &&
		(e.ours == nil || slices.Contains(e.ours, d.ours)) &&
		(e.theirs == nil || slices.Contains(e.theirs, d.theirs)) &&
		(e.when == nil || e.when(d))
}

// acceptedDifferences is the table. The first entry that covers a difference counts.
var acceptedDifferences = slices.Concat(acceptedEverywhere, acceptedOnQueues, acceptedOnMessages, acceptedOnReceipts)

// one is a list of one, which most of the table's are.
func one(text string) []string { return []string{text} }

var (
	errorCode = one(pathError)
	accepts   = one("") // no error

	sends   = []string{"SendMessage", "SendMessageBatch"}
	deletes = []string{"DeleteMessage", "DeleteMessageBatch"}
	changes = []string{"ChangeMessageVisibility", "ChangeMessageVisibilityBatch"}
	batches = []string{"SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"}
	sets    = []string{"CreateQueue", "SetQueueAttributes"}
)

// setsAny tells whether the operation sets one of these queue attributes.
func setsAny(names ...string) func(difference) bool {
	return func(d difference) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, ok := d.operation.Attributes[name]; return ok })
	}
}

// outside tells whether it sets one of these to a number that is not within.
func outside(low, high int, names ...string) func(difference) bool {
	return func(d difference) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			n, err := strconv.Atoi(d.operation.Attributes[name])
			return err == nil && (n < low || n > high)
		})
	}
}

// noNumber tells whether it sets one of these to something else than a number.
func noNumber(names ...string) func(difference) bool {
	return func(d difference) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			text, given := d.operation.Attributes[name]
			_, err := strconv.Atoi(text)
			return given && err != nil
		})
	}
}

// ofMessage asks about the message that the difference is about: the only one,
// or the batch's entry.
func ofMessage(is func(message) bool) func(difference) bool {
	return func(d difference) bool {
		entry := d.entry()
		return slices.ContainsFunc(d.operation.Messages, func(m message) bool { return (entry == "" || m.ID == entry) && is(m) })
	}
}

// ofAttribute asks about any attribute of that message.
func ofAttribute(is func(name, typed string) bool) func(difference) bool {
	return ofMessage(func(m message) bool {
		for name, typed := range m.Attributes {
			if is(name, typed) {
				return true
			}
		}
		return false
	})
}

// ofReceipt asks about the receipt that the difference is about.
func ofReceipt(is func(receipt) bool) func(difference) bool {
	return func(d difference) bool {
		entry := d.entry()
		return slices.ContainsFunc(d.operation.Receipts, func(r receipt) bool { return (entry == "" || r.ID == entry) && is(r) })
	}
}

// entry is the id of the batch's entry that the difference is about, "" for the whole call.
func (d difference) entry() string {
	_, of, _ := strings.Cut(d.path, " of ")
	id, _ := strings.CutPrefix(of, "entry ")
	return id
}

// acceptedEverywhere is what no single operation is to blame for.
var acceptedEverywhere = []acceptance{{
	name:       "the query protocol's error code",
	operations: allOperations(),
	what:       one("query code"),
	when: func(d difference) bool {
		return strings.HasPrefix(d.theirs, "com.amazonaws.sqs#") && d.ours != "" && !strings.Contains(d.ours, "#")
	},
	documentation: "SQS's API model is marked awsQueryCompatible: errors carry their query code in the x-amzn-query-error header (Smithy: AWS query compatible trait). ElasticMQ sends no such header.",
	right:         emulator,
}}

func allOperations() (names []string) {
	for name := range calls {
		names = append(names, name)
	}
	for name := range messageCalls {
		names = append(names, name)
	}
	return names
}
