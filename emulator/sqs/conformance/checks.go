package main

import (
	"slices"
	"strings"
)

// Check is a check of one behavior of SQS. If a recording and the documentation disagree, the
// recording counts. If there is no recording, and the documentation is silent or contradicts
// itself, there is no check, or one that is marked Undocumented. Checks require nothing that the
// service does not promise: they poll for counts, collect messages from several receives, and
// require an error's type only if the API reference names it or AWS's answer was recorded.
type Check struct {
	// ID is the check's name, which never changes: theme, slash, subject.
	ID string
	// Must is the sentence that must be true.
	Must string
	// Page is the page of AWS's documentation that promises this. With a recording, the page may
	// only be about the same subject.
	Page Page
	// Recorded is the place of a recorded answer of AWS. It counts more than the page. The zero
	// value means that there is none.
	Recorded Recording
	// Slow is true if the check takes more than about ten seconds of real time.
	Slow bool
	// Undocumented is true if AWS's documentation does not promise this, though consumers depend
	// on it, and there is no dated recording, or one of an order that consumers should not rely
	// on. Such checks run, but do not count.
	Undocumented bool
	// Reading is true if the check's only source is our reading of one sentence of the page,
	// which for example has a limit, but does not say that AWS refuses larger values. Such
	// checks run, but do not count.
	Reading bool

	run func(e *env)
}

// check returns a check that is not slow and has a clear page.
func check(id string, page Page, must string, run func(e *env)) Check {
	return Check{ID: id, Page: page, Must: must, run: run}
}

// The methods return the check with another field set.

func (c Check) slow() Check                 { c.Slow = true; return c }
func (c Check) undocumented() Check         { c.Undocumented = true; return c }
func (c Check) reading() Check              { c.Reading = true; return c }
func (c Check) recorded(at Recording) Check { c.Recorded = at; return c }

// Theme returns the part of the ID before the slash.
func (c Check) Theme() string {
	theme, _, _ := strings.Cut(c.ID, "/")
	return theme
}

// Promised reports whether the check counts: AWS is known to behave like this.
func (c Check) Promised() bool { return !c.Undocumented && !c.Reading }

// Page is a page of AWS's documentation.
type Page struct {
	Title, URL string
}

const documentation = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/"

// api returns an operation's page in the API reference.
func api(operation string) Page {
	return Page{"API reference, " + operation, documentation + "APIReference/API_" + operation + ".html"}
}

func guide(title, file string) Page {
	return Page{"Developer guide, " + title, documentation + "SQSDeveloperGuide/" + file + ".html"}
}

var (
	pageVisibility   = guide("Amazon SQS visibility timeout", "sqs-visibility-timeout")
	pageDelayQueues  = guide("Amazon SQS delay queues", "sqs-delay-queues")
	pageTimers       = guide("Amazon SQS message timers", "sqs-message-timers")
	pagePolling      = guide("Amazon SQS short and long polling", "sqs-short-and-long-polling")
	pageMetadata     = guide("Amazon SQS message metadata", "sqs-message-metadata")
	pageIdentifiers  = guide("Amazon SQS queue and message identifiers", "sqs-queue-message-identifiers")
	pageFIFOLogic    = guide("FIFO queue delivery logic in Amazon SQS", "FIFO-queues-understanding-logic")
	pageExactlyOnce  = guide("Exactly-once processing in Amazon SQS", "FIFO-queues-exactly-once-processing")
	pageDeadLetter   = guide("Using dead-letter queues in Amazon SQS", "sqs-dead-letter-queues")
	pageRetentionDLQ = guide("Setting-up dead-letter queue retention in Amazon SQS", "setting-up-dead-letter-queue-retention")
	pageRedrive      = guide("Learn how to configure a dead-letter queue redrive in Amazon SQS", "sqs-configure-dead-letter-queue-redrive")
	pageFair         = guide("Amazon SQS fair queues", "sqs-fair-queues")
	pageFairDetails  = guide("How Amazon SQS fair queues work", "sqs-fair-queues-detailed")
	pageXRay         = Page{"X-Ray developer guide, Amazon SQS and AWS X-Ray", "https://docs.aws.amazon.com/xray/latest/devguide/xray-services-sqs.html"}
	pageJSON         = guide("Interpreting Amazon SQS JSON API responses", "sqs-json-api-responses")
)

// All returns all checks, theme by theme.
func All() []Check {
	return slices.Concat(
		queueChecks, nameChecks, attributeChecks, attributeBounds(), countChecks, listChecks, tagChecks, permissionChecks,
		sendChecks, sizeChecks, messageAttributeChecks, messageAttributeRefusals, digestChecks, selectionChecks, systemAttributeChecks,
		receiveChecks, longPollChecks, visibilityChecks, deleteChecks, purgeChecks, delayChecks,
		batchChecks, batchErrorChecks(),
		fifoChecks, groupChecks, deduplicationChecks, tokenChecks, attemptChecks, fairChecks,
		redriveChecks, redriveFIFOChecks, redrivePolicyChecks, allowChecks, moveChecks, moveRefusals,
		protocolChecks, textChecks, queryChecks,
	)
}

// Recording is the public place of a recorded answer of AWS.
type Recording struct {
	// Date is the day of the recording, as 2024-04-30, or of the report that quotes the answer.
	// It is empty if the place only states that its test passed against AWS: such a check is
	// Undocumented.
	Date string
	// Place is the file and its test.
	Place string
}

// String returns the recording as text, "" for the zero value.
func (r Recording) String() string {
	switch {
	case r.Place == "":
		return ""
	case r.Date == "":
		return "validated on AWS on an unknown day: " + r.Place
	}
	return "recorded from AWS on " + r.Date + ": " + r.Place
}

const (
	localStackSQS   = "github.com/localstack/localstack, tests/aws/services/sqs/"
	localStackTests = localStackSQS + "test_sqs."
)

// localStack returns an answer in LocalStack's snapshots, which are recorded on AWS.
func localStack(date, test string) Recording {
	return Recording{date, localStackTests + "snapshot.json, " + test}
}

// localStackMoves returns an answer about message move tasks.
func localStackMoves(date, test string) Recording {
	return Recording{date, localStackSQS + "test_sqs_move_task.snapshot.json, " + test}
}

// localStackValidated returns a test of LocalStack that is marked as validated on AWS, without a
// snapshot.
func localStackValidated(test string) Recording {
	return Recording{"", localStackTests + "py, " + test}
}

// quoted returns an error of AWS that a report on GitHub quotes.
func quoted(date, report string) Recording { return Recording{date, "quoted in github.com/" + report} }

// goCloud returns an exchange in the test data of gocloud.dev.
func goCloud(date, file string) Recording {
	return Recording{date, "github.com/google/go-cloud, pubsub/awssnssqs/testdata/" + file + ".replay"}
}
