package sqs

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// attributeSpec describes a queue attribute that can be set (API reference,
// SetQueueAttributes).
type attributeSpec struct {
	fifoOnly bool
	initial  string // value of a new queue; "": absent until set
	// canonical validates a value and returns the form that is kept and compared.
	canonical func(name, value string) (string, *apiError)
}

var attributeSpecs = map[string]attributeSpec{
	"DelaySeconds":                  {initial: "0", canonical: between(0, 900)},
	"MaximumMessageSize":            {initial: "1048576", canonical: between(1024, maxMessageBytes)},
	"MessageRetentionPeriod":        {initial: "345600", canonical: between(60, 1209600)},
	"ReceiveMessageWaitTimeSeconds": {initial: "0", canonical: between(0, 20)},
	"VisibilityTimeout":             {initial: "30", canonical: between(0, maxVisibilitySeconds)},
	"KmsMasterKeyId":                {canonical: anyText},
	"KmsDataKeyReusePeriodSeconds":  {canonical: between(60, 86400)},
	"SqsManagedSseEnabled":          {initial: "true", canonical: oneOf("true", "false")},
	"Policy":                        {canonical: canonicalPolicy},
	"RedrivePolicy":                 {canonical: canonicalRedrivePolicy},
	"RedriveAllowPolicy":            {canonical: canonicalAllowPolicy},
	"ContentBasedDeduplication":     {fifoOnly: true, initial: "false", canonical: trueOrFalse},
	"DeduplicationScope":            {fifoOnly: true, initial: "queue", canonical: oneOf("queue", "messageGroup")},
	"FifoThroughputLimit":           {fifoOnly: true, initial: "perQueue", canonical: oneOf("perQueue", "perMessageGroupId")},
}

// settings are a queue's parsed attributes, so that sends and receives do not parse them.
type settings struct {
	delay, retention, wait, visibility time.Duration
	maxBytes                           int
	contentDeduplication               bool
	deduplicateByGroup                 bool
	redrive                            *redrivePolicy
	allow                              *allowPolicy
}

func initialAttributes(fifo bool) map[string]string {
	values := map[string]string{}
	for name, spec := range attributeSpecs {
		if spec.initial != "" && (fifo || !spec.fifoOnly) {
			values[name] = spec.initial
		}
	}
	return values
}

// merge returns a copy of a queue's attributes, values, with the given ones set. An empty value
// removes an attribute that may be absent.
func merge(values, given map[string]string, fifo bool) (map[string]string, *apiError) {
	merged := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		spec, known := attributeSpecs[name]
		switch {
		case known && spec.fifoOnly && !fifo && name != "ContentBasedDeduplication":
			return nil, modelled("InvalidAttributeName", "You can specify the %s only when FifoQueue is set to true.", name)
		case !known || spec.fifoOnly && !fifo:
			return nil, errUnknownAttribute(name)
		}
		if given[name] == "" && spec.initial == "" {
			delete(merged, name)
			continue
		}
		value, err := spec.canonical(name, given[name])
		if err != nil {
			return nil, err
		}
		merged[name] = value
	}
	if err := chooseEncryption(merged, given); err != nil {
		return nil, err
	}
	if merged["FifoThroughputLimit"] == "perMessageGroupId" && merged["DeduplicationScope"] != "messageGroup" {
		return nil, modelled("InvalidAttributeValue",
			"Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId needs DeduplicationScope messageGroup.")
	}
	return merged, nil
}

// parseSettings returns the settings of attributes in canonical form.
func parseSettings(values map[string]string) settings {
	number := func(name string) int {
		n, _ := strconv.Atoi(values[name])
		return n
	}
	seconds := func(name string) time.Duration { return time.Duration(number(name)) * time.Second }
	return settings{
		delay:                seconds("DelaySeconds"),
		retention:            seconds("MessageRetentionPeriod"),
		wait:                 seconds("ReceiveMessageWaitTimeSeconds"),
		visibility:           seconds("VisibilityTimeout"),
		maxBytes:             number("MaximumMessageSize"),
		contentDeduplication: values["ContentBasedDeduplication"] == "true",
		deduplicateByGroup:   values["DeduplicationScope"] == "messageGroup",
		redrive:              parsePolicy[redrivePolicy](values["RedrivePolicy"]),
		allow:                parsePolicy[allowPolicy](values["RedriveAllowPolicy"]),
	}
}

func (q *queue) readAttributes(names []string) (map[string]string, *apiError) {
	all := maps.Clone(q.attributes)
	all["QueueArn"] = q.arn
	all["ApproximateNumberOfMessages"] = strconv.Itoa(len(q.messages) - q.hidden.len())
	all["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(q.inFlightNow)
	all["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(q.delayedCount)
	all["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	all["LastModifiedTimestamp"] = strconv.FormatInt(q.modified.Unix(), 10)
	if q.fifo {
		all["FifoQueue"] = "true"
	}
	if slices.Contains(names, "All") {
		return all, nil
	}
	chosen := map[string]string{}
	for _, name := range names {
		if value, ok := all[name]; ok {
			chosen[name] = value
			continue
		}
		if spec, known := attributeSpecs[name]; name != "FifoQueue" && (!known || spec.fifoOnly) {
			return nil, errUnknownAttribute(name)
		}
	}
	return chosen, nil
}

// derivedAttributes are the attributes of a queue that cannot be set.
var derivedAttributes = []string{
	"QueueArn", "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
	"ApproximateNumberOfMessagesDelayed", "CreatedTimestamp", "LastModifiedTimestamp", "FifoQueue",
}

func isQueueAttribute(name string) bool {
	_, settable := attributeSpecs[name]
	return settable || slices.Contains(derivedAttributes, name)
}

func errUnknownAttribute(name string) *apiError {
	return modelled("InvalidAttributeName", "Unknown Attribute %s.", name)
}

func errAttributeValue(name string) *apiError {
	return modelled("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

func between(low, high int) func(name, value string) (string, *apiError) {
	return func(name, value string) (string, *apiError) {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return "", errAttributeValue(name)
		}
		return strconv.Itoa(n), nil
	}
}

func oneOf(allowed ...string) func(name, value string) (string, *apiError) {
	return func(name, value string) (string, *apiError) {
		if !slices.Contains(allowed, value) {
			return "", errAttributeValue(name)
		}
		return value, nil
	}
}

// trueOrFalse also accepts Python's "True" and "False", as AWS does for FifoQueue and
// ContentBasedDeduplication.
func trueOrFalse(name, value string) (string, *apiError) {
	switch {
	case isTrue(value):
		return "true", nil
	case isFalse(value):
		return "false", nil
	}
	return "", errAttributeValue(name)
}

func isTrue(value string) bool  { return value == "true" || value == "True" }
func isFalse(value string) bool { return value == "false" || value == "False" }

func anyText(_, value string) (string, *apiError) { return value, nil }

// chooseEncryption applies the rule "Only one server-side encryption option is supported per
// queue" (API reference, SetQueueAttributes) to merged, which contains the given attributes: a
// KMS key disables SqsManagedSseEnabled, which every new queue has. Nothing is encrypted.
func chooseEncryption(merged, given map[string]string) *apiError {
	if merged["KmsMasterKeyId"] == "" {
		if _, removed := given["KmsMasterKeyId"]; removed {
			delete(merged, "KmsDataKeyReusePeriodSeconds")
		}
		return nil
	}
	if given["SqsManagedSseEnabled"] == "true" {
		return modelled("InvalidAttributeName",
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}
	merged["SqsManagedSseEnabled"] = "false"
	if merged["KmsDataKeyReusePeriodSeconds"] == "" {
		merged["KmsDataKeyReusePeriodSeconds"] = "300"
	}
	return nil
}
