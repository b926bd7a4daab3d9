package template

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/batch"
)

// plainAttributes are properties of AWS::SQS::Queue and attributes of that name.
var plainAttributes = []string{
	"ContentBasedDeduplication", "DeduplicationScope", "DelaySeconds", "FifoQueue",
	"FifoThroughputLimit", "MaximumMessageSize", "MessageRetentionPeriod",
	"ReceiveMessageWaitTimeSeconds", "VisibilityTimeout",
}

// queue reads a queue resource.
func (st *Stack) queue(resource Resource) (Queue, error) {
	name, err := resource.queueName()
	if err != nil {
		return Queue{}, err
	}
	q := st.literalQueue(name)
	q.Resource, q.LogicalID, q.Attributes = resource, resource.ID, map[string]string{}
	r := st.reader()
	for _, a := range plainAttributes {
		if v := resource.Get(a); !v.Absent() {
			if s, err := v.Str(); read(&r, err == nil, err) {
				q.Attributes[a] = s
			}
		}
	}
	q.FIFO = r.truth(resource.Get("FifoQueue"), false)
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	} else {
		delete(q.Attributes, "FifoQueue") // SQS takes no "false"
	}
	if r.err != nil {
		return q, r.err
	}
	if err := st.redrive(&q); err != nil && !st.lenient {
		return q, err
	}
	allow, err := resource.Get("RedriveAllowPolicy").document()
	if err != nil && !st.lenient {
		return q, err
	}
	if allow != nil {
		encoded, err := json.Marshal(allow)
		if err != nil {
			return q, err
		}
		q.Attributes["RedriveAllowPolicy"] = string(encoded)
	}
	return q, nil
}

// literalQueue is a queue of which only the name is known.
func (st *Stack) literalQueue(name string) Queue {
	q := Queue{Name: name, ARN: st.queueARN(name), URL: st.queueURL(name), FIFO: strings.HasSuffix(name, ".fifo")}
	q.Attributes = map[string]string{}
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	}
	return q
}

func (st *Stack) redrive(q *Queue) error {
	in := q.Resource.Get("RedrivePolicy")
	policy, err := in.document()
	if policy == nil || err != nil && !st.lenient {
		return err
	}
	target, _ := policy["deadLetterTargetArn"].(string)
	count, bad := strconv.Atoi(fmt.Sprint(policy["maxReceiveCount"]))
	if st.lenient && bad == nil {
		q.MaxReceiveCount = count // even if the target is not known
	}
	if !isQueueARN(target) {
		return &Error{Pos: in.Pos, Message: fmt.Sprintf("RedrivePolicy of %s has the deadLetterTargetArn %q; it must be the ARN of an SQS queue", q.LogicalID, target)}
	}
	if !st.lenient && (bad != nil || count < 1 || count > 1000) {
		return &Error{Pos: in.Pos, Message: fmt.Sprintf("RedrivePolicy of %s has the maxReceiveCount %v; it must be a number from 1 to 1000", q.LogicalID, policy["maxReceiveCount"])}
	}
	target = st.queueARN(batch.QueueName(target)) // a queue of another account is played here
	q.DeadLetterARN, q.MaxReceiveCount = target, count
	encoded, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": target,
		"maxReceiveCount":     strconv.Itoa(count),
	})
	q.Attributes["RedrivePolicy"] = string(encoded)
	return err
}

// Visibility returns the queue's visibility timeout.
func (q *Queue) Visibility() time.Duration { return q.seconds("VisibilityTimeout", 30) }

// Retention returns how long the queue keeps a message.
func (q *Queue) Retention() time.Duration { return q.seconds("MessageRetentionPeriod", 345600) }

// seconds is an attribute, or SQS's default for it.
func (q *Queue) seconds(attribute string, otherwise int) time.Duration {
	if n, err := strconv.Atoi(q.Attributes[attribute]); err == nil {
		otherwise = n
	}
	return time.Duration(otherwise) * time.Second
}

// document reads a property that holds a JSON document, either as a mapping of
// strings and lists of strings, or as JSON in a string.
func (v Value) document() (map[string]any, error) {
	if v.node == nil {
		return nil, v.Err
	}
	out := map[string]any{}
	switch v.node.Kind {
	case yaml.ScalarNode:
		if err := json.Unmarshal([]byte(v.node.Value), &out); err != nil {
			return nil, v.st.errorf(v.node, "%s is not a JSON object: %v", v.name, err)
		}
		return out, nil
	case yaml.MappingNode:
	default:
		return nil, v.st.errorf(v.node, "%s must be a mapping, not %s", v.name, kind(v.node))
	}
	for key, item := range v.Entries() {
		var err error
		switch {
		case item.Absent():
		case item.node != nil && item.node.Kind == yaml.SequenceNode:
			out[key], err = item.Strs()
		default:
			out[key], err = item.Str()
		}
		if err != nil && v.st.lenient {
			delete(out, key)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
