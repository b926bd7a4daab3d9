package local

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// connect prepares the mapping and checks its settings, before the build.
func (s *stack) connect(tracker *track.Tracker) error {
	source, e := s.deployment.Source, s.deployment.Event
	s.mapping = lambda.Mapping{
		SQS: s.client, QueueURL: source.URL, QueueARN: source.ARN,
		BatchSize: e.BatchSize, Window: e.Window, ReportBatchItemFailures: e.ReportBatchItemFailures,
		MaximumConcurrency: e.MaximumConcurrency,
		Started:            tracker.Started,
		Filtered:           tracker.Filtered,
		Ended: func(e lambda.Ended) {
			if failure := e.Result.Error; failure != nil && failure.Init {
				s.breakDown(failure)
			}
			tracker.Ended(e)
		},
		Errored: func(e *lambda.PollError) { tracker.Warn(e.Error()) },
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
		return fmt.Errorf("%s: event %s: %w", e.Pos, e.Name, err)
	}
	return s.shortVisibility()
}

// shortVisibility returns an error for a queue that shows records again while the
// function may still handle them: Lambda refuses the mapping ("Creating and
// configuring an Amazon SQS event source mapping").
func (s *stack) shortVisibility() error {
	q, timeout := s.deployment.Source, s.deployment.Function.Timeout
	if q.LogicalID == "" || q.Visibility() >= timeout {
		return nil
	}
	return &template.Error{Pos: q.Resource.Get("VisibilityTimeout").Pos, Message: fmt.Sprintf(
		"queue %s has a VisibilityTimeout of %d seconds, less than the function's Timeout of %d; Lambda refuses that. Set it to %d (6 × Timeout + window)",
		q.Name, q.Visibility()/time.Second, timeout/time.Second, (6*timeout+s.deployment.Event.Window)/time.Second)}
}

// filterQuota is how many filters Lambda takes, unless the account's quota was
// raised ("Control which events Lambda sends to your function").
const filterQuota = 5

// findings are what a user should know of the template before it runs here.
func (s *stack) findings() []template.Finding {
	found := s.deployment.Findings
	for _, e := range s.events() {
		if n := len(e.Filters); n > filterQuota {
			found = append(found, template.Finding{Pos: e.Properties.Get("FilterCriteria").Pos, Message: fmt.Sprintf(
				"event %s has %d filters: Lambda takes %d, and more only where the account's quota was raised", e.Name, n, filterQuota)})
		}
	}
	// Without ReportBatchItemFailures Lambda deletes the whole batch when the function
	// returns ("Handling errors for an SQS event source in Lambda").
	f, e, remedy := s.deployment.Function, s.deployment.Event, settings.DeleteSucceeded
	deletes, _ := remedy.Bool(cmp.Or(s.o.env[remedy.Name], f.Environment[remedy.Name])) // the function refuses a wrong one
	if s.o.mode == modeLambda && !e.ReportBatchItemFailures && !deletes {
		found = append(found, template.Finding{Pos: e.Pos, Message: fmt.Sprintf(
			"event %s of function %s has no ReportBatchItemFailures: Lambda ignores which records failed and deletes them with the rest of the batch, so they are lost. "+
				"Add FunctionResponseTypes: [ReportBatchItemFailures] to the event, or give the function %s=true", e.Name, f.LogicalID, remedy.Name)})
	}
	return found
}

// events are those of the function that count here.
func (s *stack) events() []template.Event {
	list := []template.Event{s.deployment.Event}
	for _, m := range s.deployment.More {
		list = append(list, m.Event)
	}
	return list
}

// filterError says which filter Lambda would refuse, and why.
func (s *stack) filterError(i int, f template.Filter, err error) error {
	return fmt.Errorf(`%s: function %s, event %s: filter %d of FilterCriteria, %.200s: %w. Correct it, as in '{"body": {"status": ["paid"]}}' or, for bodies that are no JSON, '{"body": [{"prefix": "paid "}]}'`,
		f.Pos, s.deployment.Function.LogicalID, s.deployment.Event.Name, i+1, strings.TrimSpace(f.Pattern), err)
}

// printed is what a process that cannot start has said, with a hint.
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

// breakDown ends the run: a process that cannot start will never start.
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
