package template

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// plainAttributes are the properties of AWS::SQS::Queue that are attributes of
// the same name.
var plainAttributes = []string{
	"ContentBasedDeduplication", "DeduplicationScope", "DelaySeconds", "FifoQueue",
	"FifoThroughputLimit", "MaximumMessageSize", "MessageRetentionPeriod",
	"ReceiveMessageWaitTimeSeconds", "VisibilityTimeout",
}

func isQueueARN(s string) bool {
	parts := strings.Split(s, ":")
	return len(parts) == 6 && parts[0] == "arn" && parts[2] == "sqs" && parts[5] != ""
}

// queueOf is the name at the end of a queue's ARN.
func queueOf(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

// queue reads a queue resource.
func (e *evaluator) queue(r resource) (Queue, error) {
	name, err := e.queueName(r.id, r.node)
	if err != nil {
		return Queue{}, err
	}
	q := e.literalQueue(name)
	q.LogicalID, q.Attributes = r.id, map[string]string{}
	in := layers{child(r.node, "Properties")}
	for _, a := range plainAttributes {
		v, err := e.get(in, a)
		if err != nil {
			return q, err
		}
		if v == nil {
			continue
		}
		if q.Attributes[a], err = e.str(v); err != nil {
			return q, err
		}
	}
	if q.FIFO, err = e.queueFIFO(r.node); err != nil {
		return q, err
	}
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	} else {
		delete(q.Attributes, "FifoQueue") // SQS takes no "false"
	}
	if err := e.redrive(&q, in); err != nil {
		return q, err
	}
	allow, err := e.document(in, "RedriveAllowPolicy")
	if err != nil {
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
func (e *evaluator) literalQueue(name string) Queue {
	q := Queue{Name: name, ARN: e.queueARN(name), URL: e.queueURL(name), FIFO: strings.HasSuffix(name, ".fifo")}
	q.Attributes = map[string]string{}
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	}
	return q
}

func (e *evaluator) redrive(q *Queue, in layers) error {
	policy, err := e.document(in, "RedrivePolicy")
	if policy == nil || err != nil {
		return err
	}
	target, _ := policy["deadLetterTargetArn"].(string)
	if !isQueueARN(target) {
		return e.errorf(in[0], "RedrivePolicy of %s has the deadLetterTargetArn %q; it must be the ARN of an SQS queue", q.LogicalID, target)
	}
	count, err := strconv.Atoi(fmt.Sprint(policy["maxReceiveCount"]))
	if err != nil || count < 1 || count > 1000 {
		return e.errorf(in[0], "RedrivePolicy of %s has the maxReceiveCount %v; it must be a number from 1 to 1000", q.LogicalID, policy["maxReceiveCount"])
	}
	target = e.queueARN(queueOf(target)) // a queue of another account is played here
	q.DeadLetterARN, q.MaxReceiveCount = target, count
	encoded, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": target,
		"maxReceiveCount":     strconv.Itoa(count),
	})
	q.Attributes["RedrivePolicy"] = string(encoded)
	return err
}

// document evaluates a property that holds a JSON document, either as a
// mapping of strings and lists of strings, or as JSON in a string.
func (e *evaluator) document(in layers, name string) (map[string]any, error) {
	v, err := e.get(in, name)
	if v == nil || err != nil {
		return nil, err
	}
	out := map[string]any{}
	if v.Kind == yaml.ScalarNode {
		if err := json.Unmarshal([]byte(v.Value), &out); err != nil {
			return nil, e.errorf(v, "%s is not a JSON object: %v", name, err)
		}
		return out, nil
	}
	if v.Kind != yaml.MappingNode {
		return nil, e.errorf(v, "%s must be a mapping, not %s", name, kind(v))
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i].Value
		item, err := e.eval(v.Content[i+1])
		if err != nil {
			return nil, err
		}
		switch {
		case absent(item):
		case item.Kind == yaml.SequenceNode:
			if out[key], err = e.strs(item); err != nil {
				return nil, err
			}
		default:
			if out[key], err = e.str(item); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
