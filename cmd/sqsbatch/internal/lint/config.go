package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// configFile is the configuration that is read if it is in the current directory.
const configFile = ".sqsbatch-lint.yaml"

// A config is what a project says of its findings.
type config struct {
	Severity string            `yaml:"severity"` // as --severity
	Baseline string            `yaml:"baseline"` // as --baseline, relative to the current directory
	Rules    map[string]string `yaml:"rules"`    // "off" or a severity, by the id of a rule
}

const off = "off"

// readConfig reads a configuration. There may be none under the usual name.
func readConfig(path string) (c config, err error) {
	given := path != ""
	if !given {
		path = configFile
	}
	data, err := template.ReadFile(path, template.MaxSize)
	if !given && errors.Is(err, os.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return config{}, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return config{}, fmt.Errorf("%s: %w; it may have severity, baseline and rules", path, err)
	}
	if c.Severity != "" && rank(c.Severity) < 0 {
		return config{}, fmt.Errorf("%s: severity is %q; it must be one of %s", path, c.Severity, strings.Join(severities, ", "))
	}
	for id, severity := range c.Rules {
		if !slices.ContainsFunc(rules.Rules(), func(r rules.Info) bool { return r.ID == id }) {
			return config{}, fmt.Errorf("%s: there is no rule %s; sqsbatch lint --list-rules lists them", path, id)
		}
		if severity != off && rank(severity) < 0 {
			return config{}, fmt.Errorf("%s: %s is %q; it must be off or one of %s", path, id, severity, strings.Join(severities, ", "))
		}
	}
	return c, nil
}

// adjust gives findings the severities of the configuration, and leaves out those of rules that
// are off.
func (c config) adjust(r *rules.Result) {
	r.Findings = slices.DeleteFunc(r.Findings, func(x rules.Finding) bool { return c.Rules[x.ID] == off })
	r.Unknown = slices.DeleteFunc(r.Unknown, func(u rules.Unknown) bool {
		return len(u.Rules) > 0 && !slices.ContainsFunc(u.Rules, func(id string) bool { return c.Rules[id] != off })
	})
	for i, x := range r.Findings {
		if severity := c.Rules[x.ID]; severity != "" {
			r.Findings[i].Severity = rules.Severity(severity)
		}
	}
}
