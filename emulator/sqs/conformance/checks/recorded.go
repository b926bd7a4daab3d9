package checks

// Recording is where an answer of AWS to a request was recorded and can be read.
type Recording struct {
	// Date is the day of the recording, as 2024-04-30, or of the report that quotes
	// the answer. It is empty when the place only says that its test passed against
	// AWS: such a check is Undocumented.
	Date string
	// Place is the file and the test in it.
	Place string
}

// String is the recording in words, "" for the zero value.
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

// localStack is an answer in LocalStack's snapshots, which are taken from AWS.
func localStack(date, test string) Recording {
	return Recording{date, localStackTests + "snapshot.json, " + test}
}

// localStackMoves is one about message move tasks.
func localStackMoves(date, test string) Recording {
	return Recording{date, localStackSQS + "test_sqs_move_task.snapshot.json, " + test}
}

// localStackValidated is a test of LocalStack that is marked as validated on AWS,
// without a snapshot.
func localStackValidated(test string) Recording {
	return Recording{"", localStackTests + "py, " + test}
}

// quoted is an error of AWS that a report on GitHub quotes.
func quoted(date, report string) Recording { return Recording{date, "quoted in github.com/" + report} }

// goCloud is an exchange in the test data of gocloud.dev.
func goCloud(date, file string) Recording {
	return Recording{date, "github.com/google/go-cloud, pubsub/awssnssqs/testdata/" + file + ".replay"}
}
