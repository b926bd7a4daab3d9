package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/words"
)

// An assignment is NAME=VALUE of --set, or one of --vary.
type assignment struct{ name, value string }

func (a assignment) String() string { return a.name + "=" + a.value }

// assignments is a flag's value that collects those of a repeated flag, in order.
type assignments []assignment

func (a *assignments) String() string { return "" }

// Type implements pflag.Value.
func (a *assignments) Type() string { return "NAME=VALUE" }

// Set implements pflag.Value.
func (a *assignments) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return errors.New("it must be written as NAME=VALUE")
	}
	*a = append(*a, assignment{name, value})
	return nil
}

// A setting is one of the queue, the mapping, the function or the containers that --set and
// --vary change. Names are those of CloudFormation.
type setting struct {
	name        string
	least, most int
	none        bool   // "none" is allowed, and sets 0
	mode        string // the mode in which it has an effect, "" for both
	set         func(s *model.Scenario, n int)
}

// changeable are the settings besides variables of the toolkit and parameters of the template.
var changeable = []setting{
	{"BatchSize", 1, 10_000, false, modeLambda, func(s *model.Scenario, n int) { s.Mapping.BatchSize = n }},
	{"MaximumBatchingWindowInSeconds", 0, 300, false, modeLambda, func(s *model.Scenario, n int) { s.Mapping.Window = seconds(n) }},
	{"MaximumConcurrency", 2, 1000, true, modeLambda, func(s *model.Scenario, n int) { s.Mapping.MaximumConcurrency = n }},
	{"MinimumPollers", 2, 200, true, modeLambda, func(s *model.Scenario, n int) { s.Mapping.MinimumPollers = n }},
	{"MaximumPollers", 2, 10_000, true, modeLambda, func(s *model.Scenario, n int) { s.Mapping.MaximumPollers = n }},
	{"ReservedConcurrentExecutions", 1, 100_000, true, modeLambda, func(s *model.Scenario, n int) { s.Function.Reserved = n }},
	{"AccountConcurrency", 1, 1_000_000, false, modeLambda, func(s *model.Scenario, n int) { s.Function.AccountLimit = n }},
	{"Timeout", 1, 5400, false, modeLambda, func(s *model.Scenario, n int) { s.Function.Timeout = seconds(n) }},
	{"MemorySize", 128, 10_240, false, modeLambda, func(s *model.Scenario, n int) { s.Function.MemoryMB = n }},
	{"VisibilityTimeout", 0, 43_200, false, "", func(s *model.Scenario, n int) { s.Queue.Visibility = seconds(n) }},
	{"DelaySeconds", 0, 900, false, "", func(s *model.Scenario, n int) { s.Queue.Delay = seconds(n) }},
	{"MessageRetentionPeriod", 60, 1_209_600, false, "", func(s *model.Scenario, n int) { s.Queue.Retention = seconds(n) }},
	{"maxReceiveCount", 1, 1000, true, "", func(s *model.Scenario, n int) { s.Queue.MaxReceiveCount = n }},
	{"Tasks", 1, 10_000, false, modePoll, func(s *model.Scenario, n int) { s.Containers.Tasks = n }},
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// settingNames returns the names that --set and --vary take besides those of variables and
// parameters.
func settingNames() (names []string) {
	for _, s := range changeable {
		names = append(names, s.name)
	}
	return names
}

// isVariable reports whether a name is that of a variable of the toolkit.
func isVariable(name string) bool { return strings.HasPrefix(name, settings.Prefix) }

// find returns the setting of a name, nil if there is none.
func find(name string) *setting {
	i := slices.IndexFunc(changeable, func(s setting) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &changeable[i]
}

// change sets the setting's value in a scenario.
func (t *setting) change(s *model.Scenario, value string) error {
	n, err := strconv.Atoi(value)
	switch poll := s.Mapping == nil; {
	case t.mode != "" && poll != (t.mode == modePoll):
		return fmt.Errorf("%s has no effect without --mode %s", t.name, t.mode)
	case t.none && value == "none":
		n = 0
	case err != nil || n < t.least || n > t.most:
		must := fmt.Sprintf("a whole number from %d to %d", t.least, t.most)
		if t.none {
			must += ", or none"
		}
		return fmt.Errorf("%s is %q; it must be %s", t.name, value, must)
	}
	t.set(s, n)
	return nil
}

// unknown returns the error of a name that is no setting.
func unknown(name string, parameters []string) error {
	names := append(settingNames(), parameters...)
	for _, s := range settings.Names() {
		names = append(names, settings.Prefix+s)
	}
	if nearest := words.Nearest(name, names); nearest != "" {
		return fmt.Errorf("there is no setting %s; is %s meant?", name, nearest)
	}
	return fmt.Errorf("there is no setting %s; `sqsbatch help simulate` lists them", name)
}

// known returns an error for a variable of the command line that the toolkit does not know.
func known(env map[string]string) error {
	for name := range env {
		if isVariable(name) && !slices.ContainsFunc(settings.All, func(s *settings.Setting) bool { return s.Name == name }) {
			return unknown(name, nil)
		}
	}
	return nil
}

// A toolkit has the toolkit's variables.
type toolkit struct{ env map[string]string }

// inScenario are the settings that a scenario has.
var inScenario = []*settings.Setting{
	&settings.Concurrency, &settings.Reserve, &settings.RecordTimeout, &settings.MinRemaining, &settings.Grace,
	&settings.Outage, &settings.Backoff, &settings.BackoffBase, &settings.BackoffCap, &settings.OnPermanent,
	&settings.Visibility, &settings.Prefetch,
}

// used lists the variables that a scenario has, as NAME=VALUE.
func (t toolkit) used() (list []string) {
	for _, s := range inScenario {
		if text := t.env[s.Name]; text != "" {
			list = append(list, s.Name+"="+text)
		}
	}
	return list
}

// check returns an error that names a variable whose value the toolkit refuses.
func (t toolkit) check() error {
	for _, s := range inScenario {
		if text := t.env[s.Name]; text != "" {
			if _, err := s.Read(text); err != nil {
				return fmt.Errorf("%s is %q: it %w", s.Name, text, err)
			}
		}
	}
	if t.env[settings.Outage.Name] != "" && t.env[settings.Backoff.Name] != "" {
		return fmt.Errorf("%s is %q and %s is %q: set one of them", settings.Outage.Name, t.env[settings.Outage.Name], settings.Backoff.Name, t.env[settings.Backoff.Name])
	}
	return nil
}

// of returns the value of a setting that was checked, the zero value if it is not set.
func of[T any](t toolkit, s settings.Setting) (value T) {
	if text := t.env[s.Name]; text != "" {
		v, _ := s.Read(text)
		value, _ = v.(T)
	}
	return value
}
