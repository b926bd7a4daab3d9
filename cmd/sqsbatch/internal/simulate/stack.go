package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/samconfig"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A stack is a template that is simulated.
type stack struct {
	o          *options
	template   *template.Template
	path       string // "" for the defaults
	parameters map[string]string
}

// readStack reads a template, or the defaults if path is "" and there is none here.
func (o *options) readStack(path string) (s *stack, err error) {
	s = &stack{o: o, path: path, parameters: map[string]string{}}
	if path == "" {
		s.path, _ = template.Find(".")
	}
	if s.path == "" {
		if o.function != "" || o.queue != "" || len(o.parameters) > 0 {
			return nil, usagef("there is no %s here; name a template, because --function, --queue and --parameter-overrides choose in one", template.Names[0])
		}
		s.template, err = template.Defaults()
		return s, err
	}
	if s.template, err = template.Read(s.path); err != nil {
		return nil, err
	}
	_, set, err := samconfig.Parameters(command, filepath.Dir(s.path), o.configEnv)
	if err != nil {
		return nil, err
	}
	for name, value := range set {
		if s.template.HasParameter(name) { // SAM ignores others
			s.parameters[name] = value
		}
	}
	maps.Copy(s.parameters, o.parameters)
	return s, nil
}

// name returns what texts call the stack.
func (s *stack) name() string { return cmp.Or(s.path, "defaults") }

// A variant is a stack with settings of --set and --vary.
type variant struct {
	scenario   model.Scenario
	deployment *template.Deployment
	lint       []rules.Finding
	warnings   []string
	variables  []string // of the toolkit, as NAME=VALUE, that the scenario has
}

// with returns the scenario of the stack with more settings.
func (s *stack) with(more ...assignment) (*variant, error) {
	parameters, env := maps.Clone(s.parameters), merged(s.o.env)
	var change []assignment
	for _, a := range slices.Concat(s.o.set, more) {
		switch {
		case isVariable(a.name):
			env[a.name] = a.value
		case find(a.name) != nil:
			change = append(change, a)
		case s.template.HasParameter(a.name):
			parameters[a.name] = a.value
		default:
			return nil, usagef("%s: %v", a, unknown(a.name, nil))
		}
	}
	options := template.Options{Function: s.o.function, Queue: s.o.queue, Parameters: parameters, Environment: env}
	d, err := s.template.Resolve(options)
	if _, ok := errors.AsType[*template.ChoiceError](err); ok {
		return nil, fmt.Errorf("%w; choose with --function NAME, or name another template", err)
	}
	if err != nil {
		return nil, err
	}
	st, err := s.template.Stack(options)
	if err != nil {
		return nil, err
	}
	v := &variant{deployment: d, lint: rules.OfDeployment(s.template, options, d, s.o.mode == modePoll)}
	for _, f := range d.Findings {
		v.warnings = append(v.warnings, f.String())
	}
	if err := known(env); err != nil {
		return nil, usagef("%v", err)
	}
	of := toolkit{merged(d.Function.Environment, env)}
	if err := of.check(); err != nil {
		return nil, err
	}
	v.variables = of.used()
	if s.o.mode == modeLambda {
		v.warnings = append(v.warnings, notModelled(d.Event, of)...)
	}
	if err := s.scenario(&v.scenario, st, d, of); err != nil {
		return nil, err
	}
	for _, a := range change {
		if err := find(a.name).change(&v.scenario, a.value); err != nil {
			return nil, usagef("%s: %v", a, err)
		}
	}
	return v, nil
}

// notModelled says what the model does not take of an event.
func notModelled(e template.Event, t toolkit) (list []string) {
	if len(e.Filters) > 0 {
		list = append(list, fmt.Sprintf("%s: FilterCriteria are left out: the load is what passes them", e.Pos))
	}
	if !e.ReportBatchItemFailures && !of[bool](t, settings.DeleteSucceeded) {
		list = append(list, fmt.Sprintf("%s: the model has %s=true. Without it and without ReportBatchItemFailures, Lambda deletes records that fail", e.Pos, settings.DeleteSucceeded.Name))
	}
	return list
}

// merged returns a map with all entries; a later map replaces values of an earlier one.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// scenario fills in what the template and the variables say.
func (s *stack) scenario(sc *model.Scenario, st *template.Stack, d *template.Deployment, t toolkit) error {
	q := d.Queue
	sc.Queue = model.Queue{
		FIFO: q.FIFO, Visibility: q.Visibility(), Delay: q.Delay(), Retention: q.Retention(), MaxReceiveCount: q.MaxReceiveCount,
	}
	sc.Toolkit = model.Toolkit{
		Concurrency: of[int](t, settings.Concurrency), Reserve: of[time.Duration](t, settings.Reserve),
		RecordTimeout: of[time.Duration](t, settings.RecordTimeout), MinRemaining: of[time.Duration](t, settings.MinRemaining),
		Grace: of[time.Duration](t, settings.Grace), Outage: of[time.Duration](t, settings.Outage),
		BackoffBase: of[time.Duration](t, settings.BackoffBase), BackoffCap: of[time.Duration](t, settings.BackoffCap),
		OnPermanent: partialfailure.OnPermanent(of[string](t, settings.OnPermanent)),
	}
	if t.env[settings.Backoff.Name] != "" && sc.Toolkit.BackoffBase == 0 {
		sc.Toolkit.BackoffBase, _ = time.ParseDuration(settings.BackoffBase.Default)
	}
	sc.Alarms = alarmsOf(st, q, d)
	if s.o.mode == modePoll {
		c := &model.Containers{
			Tasks: s.o.tasks, Slots: sc.Toolkit.Concurrency, Visibility: of[time.Duration](t, settings.Visibility), Prefetch: of[int](t, settings.Prefetch),
		}
		if t.env[settings.Prefetch.Name] == "0" {
			c.Prefetch = -1
		}
		sc.Containers = c
		return nil
	}
	e, f := d.Event, d.Function
	sc.Mapping = &model.Mapping{
		BatchSize: e.BatchSize, Window: e.Window, MaximumConcurrency: e.MaximumConcurrency, ReportBatchItemFailures: e.ReportBatchItemFailures,
	}
	pollers := e.Properties.Get("ProvisionedPollerConfig")
	if !pollers.Absent() {
		var bad, wrong error
		sc.Mapping.MinimumPollers, bad = pollers.Get("MinimumPollers").Int(2)
		sc.Mapping.MaximumPollers, wrong = pollers.Get("MaximumPollers").Int(200)
		if err := errors.Join(bad, wrong); err != nil {
			return err
		}
	}
	sc.Function = model.Function{Timeout: f.Timeout, MemoryMB: f.MemoryMB}
	if f.ReservedConcurrency != nil {
		sc.Function.Reserved = *f.ReservedConcurrency
	}
	return nil
}

// metrics are those of the queue and of its dead-letter queue that alarms watch.
var metrics = map[string]model.Metric{
	"ApproximateAgeOfOldestMessage": model.AgeMetric, "ApproximateNumberOfMessagesVisible": model.VisibleMetric,
	"ApproximateNumberOfMessagesNotVisible": model.InFlightMetric,
}

// alarmsOf lists the template's alarms on the queue and its dead-letter queue. Alarms that are not
// known, or about other metrics, are left out.
func alarmsOf(st *template.Stack, q template.Queue, d *template.Deployment) (list []model.Alarm) {
	dead := ""
	for _, other := range d.Queues {
		if other.ARN == q.DeadLetterARN {
			dead = other.Name
		}
	}
	all, _ := st.Survey().Stack.Resources("AWS::CloudWatch::Alarm") // a lenient stack has no errors
	for _, r := range all {
		name, _ := r.Get("MetricName").Str()
		of, known := rules.QueueOf(r.Get("Dimensions"))
		metric := metrics[name]
		switch {
		case !known || metric == "":
			continue
		case of == dead && dead != "" && metric == model.VisibleMetric:
			metric = model.DeadLettersMetric
		case of != q.Name:
			continue
		}
		if a, ok := alarmOf(r, metric); ok {
			list = append(list, a)
		}
	}
	return list
}

// alarmOf reads an alarm. It returns false if a value is not known, or it does not ring above a
// threshold.
func alarmOf(r template.Resource, metric model.Metric) (model.Alarm, bool) {
	compare, err := r.Get("ComparisonOperator").Str()
	threshold, bad := r.Get("Threshold").Str()
	above, wrong := strconv.ParseFloat(threshold, 64)
	period, e1 := r.Get("Period").Int(60)
	periods, e2 := r.Get("EvaluationPeriods").Int(1)
	datapoints, e3 := r.Get("DatapointsToAlarm").Int(periods)
	a := model.Alarm{
		Name: r.ID, Metric: metric, Threshold: above, OrEqual: compare == "GreaterThanOrEqualToThreshold",
		Period: seconds(period), Periods: periods, Datapoints: datapoints,
	}
	rises := a.OrEqual || compare == "GreaterThanThreshold"
	return a, rises && errors.Join(err, bad, wrong, e1, e2, e3) == nil
}
