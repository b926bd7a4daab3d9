package local

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// connect prepares the mapping and checks its settings, before time is spent on
// the build.
func (s *stack) connect(tracker *track.Tracker) error {
	source, e := s.deployment.Source, s.deployment.Event
	s.mapping = lambda.Mapping{
		SQS: s.client, QueueURL: source.URL, QueueARN: source.ARN,
		BatchSize: e.BatchSize, Window: e.Window, ReportBatchItemFailures: e.ReportBatchItemFailures,
		MaximumConcurrency: e.MaximumConcurrency,
		Started:            func(i lambda.Invocation) { started(tracker, i) },
		Filtered:           func(f lambda.Filtered) { filtered(tracker, f) },
		Ended:              func(e lambda.Ended) { s.ended(tracker, e) },
		Errored:            func(e *lambda.PollError) { tracker.Warn(e.Error()) },
	}
	for i, f := range e.Filters {
		if _, err := lambda.ParseFilter(f.Pattern); err != nil {
			return s.filterError(i, f, err)
		}
		s.mapping.Filters = append(s.mapping.Filters, f.Pattern)
	}
	probe := s.mapping
	probe.Function = &lambda.Deployment{}
	if err := probe.Validate(); err != nil {
		return fmt.Errorf("%s: event %s: %w", s.template.Path, e.Name, err)
	}
	if timeout := s.deployment.Function.Timeout; visibility(source) < timeout {
		return fmt.Errorf("%s: queue %s has a VisibilityTimeout of %d seconds, less than the function's Timeout of %d; Lambda refuses that. Set it to %d (6 × Timeout + window)",
			s.template.Path, source.Name, int(visibility(source).Seconds()), int(timeout.Seconds()), int((6*timeout + e.Window).Seconds()))
	}
	return nil
}

// unreported warns of an event that does not heed what a function reports, "" if it does.
func (s *stack) unreported() string {
	e, f := s.deployment.Event, s.deployment.Function
	const remedy = "SQSBATCH_DELETE_SUCCEEDED"
	deletes, _ := strconv.ParseBool(cmp.Or(s.o.env[remedy], f.Environment[remedy])) // a wrong one is told by the function
	if e.ReportBatchItemFailures || deletes || s.o.mode == modePoll {
		return ""
	}
	return fmt.Sprintf("event %s of function %s has no ReportBatchItemFailures: Lambda ignores which records failed and deletes them with the rest of the batch, so they are lost. "+
		"Add FunctionResponseTypes: [ReportBatchItemFailures] to the event, or give the function %s=true", e.Name, f.LogicalID, remedy)
}

// visibility is the queue's visibility timeout, by SQS' default 30 s.
func visibility(q template.Queue) time.Duration {
	if seconds, err := strconv.Atoi(q.Attributes["VisibilityTimeout"]); err == nil {
		return time.Duration(seconds) * time.Second
	}
	return 30 * time.Second
}

// filterError says which filter Lambda would refuse, and why.
func (s *stack) filterError(i int, f template.Filter, err error) error {
	at := s.template.Path
	if f.Line > 0 {
		at += fmt.Sprintf(":%d", f.Line)
	}
	return fmt.Errorf(`%s: function %s, event %s: filter %d of FilterCriteria, %.200s: %w. Correct it, as in '{"body": {"status": ["paid"]}}' or, for bodies that are no JSON, '{"body": [{"prefix": "paid "}]}'`,
		at, s.deployment.Function.LogicalID, s.deployment.Event.Name, i+1, strings.TrimSpace(f.Pattern), err)
}

func delivery(r lambda.Record) track.Delivery {
	return track.Delivery{MessageID: r.MessageID, Body: r.Body, Attempt: r.Attempt}
}

func started(tracker *track.Tracker, i lambda.Invocation) {
	deliveries := make([]track.Delivery, len(i.Records))
	for n, r := range i.Records {
		deliveries[n] = delivery(r)
	}
	tracker.Started(i.RequestID, i.ColdStart, deliveries)
}

func filtered(tracker *track.Tracker, f lambda.Filtered) {
	var deleted []track.Delivery
	for n, v := range f.Verdicts {
		if v.Deleted {
			deleted = append(deleted, delivery(f.Records[n]))
		} else {
			tracker.Warn(fmt.Sprintf("message %s matches no filter but could not be deleted: %v", f.Records[n].MessageID, v.Err))
		}
	}
	tracker.Filtered(deleted)
}

func (s *stack) ended(tracker *track.Tracker, e lambda.Ended) {
	end := track.End{
		RequestID: e.RequestID, Duration: e.Result.Duration,
		ColdStart: e.Result.ColdStart, Init: e.Result.Init,
	}
	if ferr := e.Result.Error; ferr != nil {
		end.Error = ferr.Type + ": " + ferr.Message
		switch {
		case ferr.Init:
			s.breakDown(ferr)
		case ferr.Type == "Sandbox.Closed":
			end.Error = "stopped before it answered"
		}
	} else {
		end.WholeBatchFail = e.AllFailed
	}
	for n, v := range e.Verdicts {
		if !v.Deleted {
			end.Left = append(end.Left, e.Records[n].MessageID)
		}
		if v.Err != nil {
			tracker.Warn(fmt.Sprintf("message %s succeeded but could not be deleted: %v", e.Records[n].MessageID, v.Err))
		}
	}
	tracker.Ended(end)
}

// printed is what a process that cannot start has said, with a hint unless the toolkit
// has named a variable that is wrong.
func printed(output []string, hint string) (text string) {
	said := strings.Join(output, "\n  ")
	if said != "" {
		text = "\nit printed:\n  " + said
	}
	if !strings.Contains(said, "SQSBATCH_") {
		text += "\n" + hint
	}
	return text
}

// breakDown ends the run: a process that cannot start will not start next time
// either.
func (s *stack) breakDown(ferr *lambda.FunctionError) {
	message := ferr.Message
	if _, after, ok := strings.Cut(message, " Error: "); ok && strings.HasPrefix(message, "RequestId: ") {
		message = after
	}
	text := fmt.Sprintf("%s cannot start: %s", s.pkgName, message)
	text += printed(ferr.Output, "a function's main calls handler.Run (or aws-lambda-go's lambda.Start), which does not return")
	select {
	case s.broken <- errors.New(text):
	default:
	}
}
