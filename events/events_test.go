package events_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

func names(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := fs.Glob(events.FS, pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return found
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	b, err := events.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Every record has what AWS always sends, with digests that fit.
func TestRecords(t *testing.T) {
	for _, name := range append(names(t, "*.json"), names(t, "shapes/*.json")...) {
		t.Run(name, func(t *testing.T) {
			var e lambdaevents.SQSEvent
			load(t, name, &e)
			ids, handles := map[string]bool{}, map[string]bool{}
			for i, r := range e.Records {
				at := "record " + strconv.Itoa(i+1)
				if ids[r.MessageId] && name != "duplicate.json" {
					t.Errorf("%s: messageId %s is there twice", at, r.MessageId)
				}
				if handles[r.ReceiptHandle] {
					t.Errorf("%s: receiptHandle is there twice: every delivery has its own", at)
				}
				ids[r.MessageId], handles[r.ReceiptHandle] = true, true
				checkRecord(t, at, r)
			}
		})
	}
}

var (
	uuid   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	number = regexp.MustCompile(`^[1-9][0-9]*$`)
)

func checkRecord(t *testing.T, at string, r lambdaevents.SQSMessage) {
	t.Helper()
	fifo := strings.HasSuffix(r.EventSourceARN, ".fifo")
	switch {
	case !uuid.MatchString(r.MessageId):
		t.Errorf("%s: messageId %q is no UUID", at, r.MessageId)
	case !strings.HasPrefix(r.ReceiptHandle, "AQEB"):
		t.Errorf("%s: receiptHandle %q is unlike SQS's", at, r.ReceiptHandle)
	case r.Body == "" || !utf8.ValidString(r.Body):
		t.Errorf("%s: SQS would not take the body %q", at, r.Body)
	case strings.TrimSuffix(r.EventSourceARN, ".fifo") != "arn:aws:sqs:us-east-1:123456789012:orders":
		t.Errorf("%s: eventSourceARN is %q", at, r.EventSourceARN)
	case r.EventSource != "aws:sqs" || r.AWSRegion != "us-east-1":
		t.Errorf("%s: eventSource %q, awsRegion %q", at, r.EventSource, r.AWSRegion)
	case r.MessageAttributes == nil:
		t.Errorf("%s: messageAttributes is missing: without any it is {}", at)
	}

	for _, name := range []string{"ApproximateReceiveCount", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
		if !number.MatchString(r.Attributes[name]) {
			t.Errorf("%s: attribute %s is %q, want a number", at, name, r.Attributes[name])
		}
	}
	if r.Attributes["ApproximateFirstReceiveTimestamp"] < r.Attributes["SentTimestamp"] {
		t.Errorf("%s: received before it was sent", at)
	}
	for _, name := range []string{"SequenceNumber", "MessageDeduplicationId"} {
		if _, has := r.Attributes[name]; has != fifo {
			t.Errorf("%s: attribute %s there: %t, on a FIFO queue: %t", at, name, has, fifo)
		}
	}
	if fifo && r.Attributes["MessageGroupId"] == "" {
		t.Errorf("%s: no MessageGroupId on a FIFO queue", at)
	}

	body, attributes := digests(t, at, r)
	if r.Md5OfBody != body || r.Md5OfMessageAttributes != attributes {
		t.Errorf("%s: md5OfBody is %q, want %q, md5OfMessageAttributes %q, want %q", at, r.Md5OfBody, body, r.Md5OfMessageAttributes, attributes)
	}
}

// digests are those with which SQS answers when the record is sent.
func digests(t *testing.T, at string, r lambdaevents.SQSMessage) (body, attributes string) {
	t.Helper()
	in := &awssqs.SendMessageInput{MessageBody: &r.Body, MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, a := range r.MessageAttributes {
		if a.StringListValues == nil || a.BinaryListValues == nil {
			t.Errorf("%s: attribute %s lacks its empty lists", at, name)
		}
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
	}
	server := sqs.New(sqs.Config{})
	defer server.Close()
	client := server.Client()
	queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}
	in.QueueUrl = queue.QueueUrl
	out, err := client.SendMessage(t.Context(), in)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	return aws.ToString(out.MD5OfMessageBody), aws.ToString(out.MD5OfMessageAttributes)
}

// Each event, its answer and its line in README.md say the same.
func TestAnswersAreDocumented(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| ((?:shapes/)?[a-z0-9-]+\.json) \| [^|]+ \| ([0-9, ]+|none) \| [^|]+ \|$`)
	documented := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(docpage.Read(t, "README.md"), -1) {
		documented[m[1]] = m[2]
	}
	for _, name := range append(names(t, "*.json"), names(t, "shapes/*.json")...) {
		var e lambdaevents.SQSEvent
		load(t, name, &e)
		var answer struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		file := path.Join(path.Dir(name), "answers", path.Base(name))
		load(t, file, &answer)
		var places []string
		for _, f := range answer.BatchItemFailures {
			i := slices.IndexFunc(e.Records, func(r lambdaevents.SQSMessage) bool { return r.MessageId == f.ItemIdentifier })
			places = append(places, strconv.Itoa(i+1)) // 0: the event has no such record
		}
		want := strings.Join(places, ", ")
		if want == "" {
			want = "none"
		}
		if documented[name] != want {
			t.Errorf("README.md says that the answer to %s lists %q, %s lists %q", name, documented[name], file, want)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("README.md describes %s, which is not there", name)
	}
}
