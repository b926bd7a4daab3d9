// Package dashboard makes the dashboards of deploy from one list of panels: a
// CloudWatch dashboard (deploy/monitoring.yaml) and one for Grafana with
// Prometheus (deploy/grafana/sqsbatch.json). Its tests write the files, and
// fail when they are not what the list makes, when a metric of package
// telemetry/metric is neither shown nor left out with a reason, and when an
// alarm has no runbook.
//
// After a change of the list:
//
//	go test ./telemetry/internal/dashboard -update
package dashboard

import "github.com/sqsbatch/sqsbatch/telemetry/metric"

// where a panel belongs.
type where uint8

const (
	everywhere where = iota
	onLambda
	inContainers
)

// panel is a graph.
type panel struct {
	title string
	help  string // what to see in it; shown by Grafana
	at    where
	unit  unit
	stack bool
	limit float64 // a horizontal line; 0 for none
	lines []line
}

// unit is that of the axis.
type unit uint8

const (
	plain unit = iota
	seconds
	milliseconds
	percent
	dollars
)

// line is a metric of ours, or one of AWS's, or an expression.
type line struct {
	metric *metric.Metric
	aws    *awsMetric
	// stat is CloudWatch's. Empty is Sum for a counter and Average for a gauge.
	stat  string
	label string
}

// awsMetric is one that a service of AWS reports, where that is better than
// ours: about the queue, which is there when no process is, and about what
// Lambda did. The dimensions' values are parameters of deploy/monitoring.yaml.
type awsMetric struct {
	namespace, name string
	dimensions      []string // name, value, …
}

func queue(name string) *awsMetric {
	return &awsMetric{"AWS/SQS", name, []string{"QueueName", "${QueueName}"}}
}

func deadLetterQueue(name string) *awsMetric {
	return &awsMetric{"AWS/SQS", name, []string{"QueueName", "${DeadLetterQueueName}"}}
}

func function(name string) *awsMetric {
	return &awsMetric{"AWS/Lambda", name, []string{"FunctionName", "${FunctionName}"}}
}

// quantiles are a distribution's.
func quantiles(m *metric.Metric) []line {
	return []line{{metric: m, stat: "p50", label: "p50"}, {metric: m, stat: "p99", label: "p99"}, {metric: m, stat: "Maximum", label: "maximum"}}
}

// ours are counters or gauges as they are.
func ours(list ...*metric.Metric) (lines []line) {
	for _, m := range list {
		label := m.Value
		if label == "" {
			label = words(m.Name)
		}
		lines = append(lines, line{metric: m, label: label})
	}
	return lines
}

var panels = []panel{
	{
		title: "Messages in the queue", help: "Growing, while records succeed: more consumers, or faster ones. In flight is what is held or waits for its backoff.",
		lines: []line{
			{aws: queue("ApproximateNumberOfMessagesVisible"), stat: "Maximum", label: "waiting"},
			{aws: queue("ApproximateNumberOfMessagesNotVisible"), stat: "Maximum", label: "in flight"},
			{aws: queue("ApproximateNumberOfGroupsWithInflightMessages"), stat: "Maximum", label: "FIFO groups in flight"},
		},
	},
	{
		title: "Age of the oldest message", unit: seconds, help: "What users wait for at worst. Rising by a second each second: nothing is handled.",
		lines: []line{{aws: queue("ApproximateAgeOfOldestMessage"), stat: "Maximum", label: "oldest"}},
	},
	{
		title: "Dead letters", help: "Waiting: somebody has to look. The others are on their way there, or gone.",
		lines: append([]line{{aws: deadLetterQueue("ApproximateNumberOfMessagesVisible"), stat: "Maximum", label: "waiting in the dead-letter queue"}},
			ours(metric.RecordsDeadLettered, metric.RecordsLastAttempt, metric.RecordsDropped)...),
	},
	{
		title: "Sent and deleted", help: "Deleted below sent for long: the queue grows.",
		lines: []line{
			{aws: queue("NumberOfMessagesSent"), stat: "Sum", label: "sent"},
			{aws: queue("NumberOfMessagesDeleted"), stat: "Sum", label: "deleted"},
			{aws: queue("NumberOfEmptyReceives"), stat: "Sum", label: "empty receives"},
		},
	},
	{
		title: "Records by outcome", stack: true, help: "What became of records. Retries in a steady share are a dependency that fails.",
		lines: ours(metric.RecordsSucceeded, metric.RecordsRetried, metric.RecordsDeadLettered, metric.RecordsDropped, metric.RecordsNotStarted, metric.RecordsSkipped, metric.RecordsAbandoned),
	},
	{
		title: "Should be 0", help: "Bugs of the handler, too little time, and what the log warns of.",
		lines: ours(metric.RecordsAbandoned, metric.RecordsPanicked, metric.RecordsNotStarted, metric.RecordsLost, metric.RecordsRepeated, metric.Warnings, metric.SeriousWarnings),
	},
	{title: "Duration of a record", unit: milliseconds, help: metric.RecordDuration.Help, lines: quantiles(metric.RecordDuration)},
	{title: "Deadline used", unit: percent, limit: 100, help: metric.DeadlineUsed.Help, lines: quantiles(metric.DeadlineUsed)},
	{title: "Age of messages when they are done", unit: seconds, help: metric.MessageAge.Help, lines: quantiles(metric.MessageAge)},
	{
		title: "Attempts and batch size", help: metric.Attempts.Help + " " + metric.BatchSize.Help,
		lines: []line{
			{metric: metric.Attempts, stat: "p99", label: "attempts, p99"},
			{metric: metric.Attempts, stat: "Maximum", label: "attempts, maximum"},
			{metric: metric.BatchSize, stat: "p50", label: "batch size, p50"},
			{metric: metric.BatchSize, stat: "Maximum", label: "batch size, maximum"},
		},
	},
	{
		title: "Calls to SQS that failed", help: "Messages that calls failed for, and calls that SQS throttled. The log names the permission or the cause.",
		lines: ours(metric.ReceiveFailures, metric.DeleteFailures, metric.VisibilityFailures, metric.DeadLetterFailures, metric.OtherFailures, metric.Throttles),
	},
	{title: "Calls to SQS", stack: true, help: "Requests that sqsbatch made; SQS bills each. On Lambda, those of the event source mapping come on top.", lines: requests},
	{title: "Cost of these calls", unit: dollars, help: "At $0.40 a million, a standard queue in most regions; FIFO is $0.50.", lines: requests},
	{
		title: "Invocations", at: onLambda, help: "Errors are invocations that failed as a whole: every record of theirs has used up an attempt.",
		lines: append([]line{
			{aws: function("Invocations"), stat: "Sum", label: "invocations"},
			{aws: function("Errors"), stat: "Sum", label: "errors"},
			{aws: function("Throttles"), stat: "Sum", label: "throttles"},
		}, ours(metric.ColdStarts)...),
	},
	{
		title: "Concurrent executions", at: onLambda, help: "At the mapping's MaximumConcurrency for long: that, or the records' time, is what the queue waits for.",
		lines: []line{{aws: function("ConcurrentExecutions"), stat: "Maximum", label: "concurrent"}},
	},
	{
		title: "Time of invocations", at: onLambda, unit: milliseconds, help: "The sum is what Lambda bills, times the memory. Near the function's timeout: records are cut off.",
		lines: []line{{aws: function("Duration"), stat: "p99", label: "p99"}, {aws: function("Duration"), stat: "Maximum", label: "maximum"}, {aws: function("Duration"), stat: "Sum", label: "sum"}},
	},
	{title: "Slots", at: inContainers, help: metric.Running.Help + " " + metric.Waiting.Help, lines: ours(metric.Slots, metric.Running, metric.Waiting)},
	{title: "Held up", at: inContainers, help: metric.Undeleted.Help + " " + metric.AbandonedRunning.Help, lines: ours(metric.Undeleted, metric.AbandonedRunning)},
	{title: "Oldest that runs", at: inContainers, unit: seconds, help: metric.OldestRunning.Help, lines: []line{{metric: metric.OldestRunning, stat: "Maximum", label: "oldest"}}},
	{title: "Messages received, processes begun", at: inContainers, help: metric.MessagesReceived.Help + " " + metric.ColdStarts.Help, lines: ours(metric.MessagesReceived, metric.ColdStarts)},
}

var requests = ours(metric.ReceiveCalls, metric.DeleteCalls, metric.VisibilityCalls, metric.DeadLetterCalls, metric.OtherCalls)

// dollarsARequest is the price of a request to a standard queue; metric math
// knows no exponents.
const dollarsARequest = "0.0000004"

// leftOut are the metrics that no panel shows, and why.
var leftOut = map[*metric.Metric]string{
	metric.DeleteEntries:     "the calls tell what is paid, the failures what goes wrong",
	metric.VisibilityEntries: "the calls tell what is paid, the failures what goes wrong",
	metric.DeadLetterEntries: "the same, and RecordsDeadLettered counts what arrived",
}
