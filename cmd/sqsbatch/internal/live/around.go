package live

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/live/awscall"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
)

// alarms adds the alarms on the queue and its dead-letter queue, and those whose metrics are not
// known. If they could be read, and there are none, the template has one on something else: rules
// report that no alarm watches a queue only if there are others.
func (b *builder) alarms(ctx context.Context, q *source.Resource) {
	list, err := b.allAlarms(ctx)
	if err != nil {
		b.failed(q, err, slices.Concat(ofAlarms, ofWatching))
		return
	}
	b.make("AWS::CloudWatch::Alarm", "", "", "").Context = true
	queues := []string{b.queue.Name(), batch.QueueName(b.queue.DeadLetterQueue)}
	for _, a := range list {
		watches := a.of(queues)
		var metrics []any
		for _, m := range a.Metrics {
			entry := map[string]any{}
			if m.Expression != "" {
				entry["Expression"] = m.Expression
			}
			if m.Metric.MetricName != "" {
				entry["MetricStat"] = map[string]any{"Metric": map[string]any{"MetricName": m.Metric.MetricName, "Dimensions": m.Metric.dimensions()}}
			}
			metrics = append(metrics, entry)
			watches = watches || m.Metric.of(queues) || rules.Searches(m.Expression)
		}
		if !watches {
			continue
		}
		r := b.make("AWS::CloudWatch::Alarm", "", "alarm "+a.AlarmName, "alarm "+a.AlarmName)
		r.Deep = false
		if a.MetricName != "" {
			r.Set("MetricName", a.MetricName, "MetricName")
			r.Set("Dimensions", a.dimensions(), "Dimensions")
		}
		if metrics != nil {
			r.Set("Metrics", metrics, "Metrics")
		}
		r.Set("Threshold", whole(a.Threshold), "Threshold")
		b.set[r.Address] = func(property string, value any) string {
			return fmt.Sprintf("set %s to %v: in the console of CloudWatch, or with `aws cloudwatch put-metric-alarm` and all other settings of the alarm", property, value)
		}
	}
}

// of reports whether a metric is that of one of the queues.
func (m metric) of(queues []string) bool {
	return m.Namespace == "AWS/SQS" && slices.ContainsFunc(m.Dimensions, func(d dimension) bool {
		return d.Name == "QueueName" && d.Value != "" && slices.Contains(queues, d.Value)
	})
}

func (m metric) dimensions() any {
	list := []any{}
	for _, d := range m.Dimensions {
		list = append(list, map[string]any{"Name": d.Name, "Value": d.Value})
	}
	return list
}

// key adds the key of KMS that encrypts the queue, and the topics that send to the queue: rules ask
// for both together.
func (b *builder) key(ctx context.Context, q *source.Resource) {
	id := b.queue.Attributes["KmsMasterKeyId"]
	if id == "" {
		return
	}
	b.subscriptions(ctx, q)
	if strings.HasSuffix(id, "alias/aws/sqs") {
		return // AWS's own
	}
	k, err := b.account.key(ctx, id)
	switch {
	case err != nil:
		q.Set("KmsMasterKeyId", b.unread(err), "KmsMasterKeyId")
	case k.aws:
		q.Set("KmsMasterKeyId", "alias/aws/sqs", "KmsMasterKeyId")
	default:
		r := b.make("AWS::KMS::Key", k.ARN, k.ID, "key "+k.ID)
		r.Deep = false
		policy := document(k.Policy)
		if policy == nil {
			policy = source.Unknown("it is empty")
		}
		r.Set("KeyPolicy", policy, "Policy")
		q.Set("KmsMasterKeyId", source.GetAtt(r.ID, "Arn"), "KmsMasterKeyId")
	}
}

var topicARN = regexp.MustCompile(`"(arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_.-]+)"`)

// subscriptions adds the subscriptions of topics that the queue's policy names.
func (b *builder) subscriptions(ctx context.Context, q *source.Resource) {
	asked := map[string]bool{}
	for _, m := range topicARN.FindAllStringSubmatch(b.queue.Attributes["Policy"], -1) {
		topic := m[1]
		if asked[topic] {
			continue
		}
		asked[topic] = true
		endpoints, err := b.subscribers(ctx, topic)
		if awscall.Code(err) == "NotFound" || err == nil && !slices.Contains(endpoints, b.queue.ARN) {
			continue
		}
		if err != nil {
			b.failed(q, err, ofSenders)
			continue
		}
		name := topic[strings.LastIndex(topic, ":")+1:]
		r := b.make("AWS::SNS::Subscription", "", "topic "+name, "topic "+name)
		r.Set("TopicArn", topic, "TopicArn")
		r.Set("Protocol", "sqs", "Protocol")
		r.Set("Endpoint", b.queue.ARN, "Endpoint")
	}
}
