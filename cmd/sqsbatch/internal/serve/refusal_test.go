package serve_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// refusals makes two calls that are refused, and one that is not.
func refusals(t *testing.T) func(*awssqs.Client, string) {
	return func(client *awssqs.Client, urls string) {
		ctx := t.Context()
		if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: aws.String(urls + "order"), MessageBody: aws.String("a")}); err == nil {
			t.Error("a queue that there is not takes a message")
		}
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("a\nb")}); err == nil {
			t.Error("a queue's name may have two lines")
		}
		if _, err := client.ListQueues(ctx, &awssqs.ListQueuesInput{}); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusedCallsForPeople(t *testing.T) {
	lines := session(t, refusals(t), "--verbose", "--queue", "orders")
	want := []string{
		`refused {12}order   ?SendMessage  AWS\.SimpleQueueService\.NonExistentQueue: The specified queue does not exist`,
		`refused     .*CreateQueue  InvalidParameterValue: .+`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%q, want %d lines", lines, len(want))
	}
	for i, line := range lines {
		if pattern := `^\d\d:\d\d:\d\d\.\d{3}  ` + want[i]; !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("%q, want %s", line, pattern)
		}
	}
}

func TestRefusedCallsForPrograms(t *testing.T) {
	lines := session(t, refusals(t), "--verbose", "--output", "json", "--queue", "orders")
	if len(lines) != 2 {
		t.Fatalf("%q, want two lines", lines)
	}
	for i, operation := range []string{"SendMessage", "CreateQueue"} {
		var got struct{ Type, Timestamp, Operation, Queue, Error, Reason string }
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(lines[i], err)
		}
		if got.Type != "refused" || got.Timestamp == "" || got.Operation != operation || got.Error == "" || got.Reason == "" || i == 0 && got.Queue != "order" {
			t.Errorf("%s", lines[i])
		}
	}
}

func TestWithoutVerboseNothingIsShown(t *testing.T) {
	if lines := session(t, refusals(t), "--output", "json", "--queue", "orders"); len(lines) != 1 || lines[0] != "" {
		t.Errorf("%q", lines)
	}
}
