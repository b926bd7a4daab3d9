package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/internal/lint"
)

// shortVisibility is the rule on a visibility timeout below the function's timeout. Lambda
// refuses the mapping.
const shortVisibility = "SB105"

// connect prepares the mapping and checks its settings, before the build.
func (s *stack) connect(tracker *track.Tracker) error {
	source, e := s.deployment.Queue, s.deployment.Event
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
			return fmt.Errorf(`%s: function %s, event %s: filter %d of FilterCriteria, %.200s: %w. Correct it, as in '{"body": {"status": ["paid"]}}' or, for bodies that are not JSON, '{"body": [{"prefix": "paid "}]}'`,
				f.Pos, s.deployment.Function.LogicalID, e.Name, i+1, strings.TrimSpace(f.Pattern), err)
		}
		s.mapping.Filters = append(s.mapping.Filters, f.Pattern)
	}
	probe := s.mapping
	probe.Function = &lambda.Deployment{}
	if err := probe.Validate(); err != nil {
		return fmt.Errorf("%s: event %s: %w", e.Pos, e.Name, err)
	}
	if i := slices.IndexFunc(s.found, func(f lint.Finding) bool { return f.ID == shortVisibility }); i >= 0 {
		return errors.New(s.found[i].String())
	}
	return nil
}

// printed is the output of a process that cannot start, with a hint.
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
