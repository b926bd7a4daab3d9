package lint

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/samconfig"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/terraform"
)

// A file is a template with what the rules say of it.
type file struct {
	input
	live  *deployed // nil for a template
	src   []byte
	lines [][]byte // of src, made by line
	every bool     // --for container
	judged
	fixed []rules.Finding // the edits that --fix wrote
	// notes are about the file as a whole, and details those for --verbose.
	notes, details []string
	err            error // why the file, or all of it that a rule needs, could not be read

	parameters map[string]string // of the template's, those that are set
}

// judged is what the rules say as the configuration and the baseline have it.
type judged struct {
	rules.Result
	fingerprints []string // of Findings
	accepted     int      // findings of the baseline, which are not in Findings
}

// check reads one template and applies the rules.
func (o *options) check(in input) *file {
	f := &file{input: in, every: o.target == "container"}
	if f.src, f.err = o.read(in); f.err != nil {
		return f
	}
	if terraform.IsPlan(f.src) {
		f.checkPlan()
		f.judged = o.judge(f.path, f.Result)
		return f
	}
	t, err := parse(in.path, f.src)
	if err != nil {
		f.err = err
		return f
	}
	f.generated = f.generated || t.OfCDK()
	if f.err = o.choose(f, t); f.err == nil {
		f.Result, f.err = apply(t, f.options())
		f.judged = o.judge(f.path, f.Result)
	}
	f.notes = append(f.notes, f.undecided()...)
	f.noteSubject(t, f.options())
	return f
}

// maxPlan bounds a plan of Terraform, which has each resource three times.
const maxPlan = 64 << 20

// read reads the text of an input.
func (o *options) read(in input) ([]byte, error) {
	if in.path != stdin {
		return template.ReadFile(in.path, maxPlan)
	}
	src, err := template.ReadAll(o.stdin, maxPlan)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return src, nil
}

// checkPlan applies the rules to a plan or a state of Terraform. Findings have addresses and
// attributes, and fixes say what to write in HCL: the source is not known.
func (f *file) checkPlan() {
	f.generated = true
	s, err := terraform.Read(f.src)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", f.path, err)
		return
	}
	s.Options.EveryContainer = f.every
	if f.Result, err = apply(s.Template, s.Options); err != nil {
		f.err = fmt.Errorf("%s: %w", f.path, err)
		return
	}
	f.relocate(s)
	f.noteSubject(s.Template, s.Options)
}

// relocate gives what was found the places that the template was written from, and fixes that can
// be made there. It leaves out what is there for the others only.
func (f *file) relocate(s *source.Source) {
	other := func(about rules.Subject) bool { return about.Event == "" || !s.IsContext(about.Event) }
	f.Findings = slices.DeleteFunc(f.Findings, func(x rules.Finding) bool {
		return s.IsContext(x.Resource) || len(x.About) > 0 && !slices.ContainsFunc(x.About, other)
	})
	f.Unknown = slices.DeleteFunc(f.Unknown, func(u rules.Unknown) bool { return s.IsContext(u.Resource) })
	for i, x := range f.Findings {
		at := s.Place(x.Pos)
		x.Resource, x.Attribute = at.Address, at.Attribute
		x.Message, x.Why = s.Text(x.Message), s.Text(x.Why)
		if x.Fix != nil {
			x.Fix = &rules.Fix{Says: s.Setting(at, x.Fix.Name, x.Fix.Value)}
		}
		x.Pos, x.EndCol = template.Pos{}, 0
		f.Findings[i] = x
	}
	for i, u := range f.Unknown {
		at := s.Place(u.Pos)
		u.Resource, u.Attribute = at.Address, at.Attribute
		u.Message = s.Text(u.Message)
		u.Pos, u.EndCol = template.Pos{}, 0
		f.Unknown[i] = u
	}
}

func parse(path string, src []byte) (*template.Template, error) {
	if len(src) > template.MaxSize {
		return nil, fmt.Errorf("%s: it is larger than %d MiB, the most that is read of a template", path, template.MaxSize>>20)
	}
	t, err := template.ParseManifest(src)
	if t == nil && err == nil {
		t, err = template.Parse(src)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Path = path
	return t, nil
}

// options are what the template alone does not say.
func (f *file) options() template.Options {
	return template.Options{Parameters: f.parameters, EveryContainer: f.every}
}

// apply applies the rules to a template.
func apply(t *template.Template, o template.Options) (rules.Result, error) {
	st, err := t.Stack(o)
	if err != nil {
		return rules.Result{}, err
	}
	return rules.Check(st)
}

// judge applies the configuration and the baseline to what the rules say of a file.
func (o *options) judge(path string, r rules.Result) judged {
	o.config.adjust(&r)
	j := judged{Result: r}
	j.Findings = nil
	name := o.fingerprints(path)
	for _, x := range r.Findings {
		fingerprint := name(x)
		if a, known := o.known[fingerprint]; known {
			a.found = true
			j.accepted++
			continue
		}
		j.Findings = append(j.Findings, x)
		j.fingerprints = append(j.fingerprints, fingerprint)
	}
	return j
}

// undecided says which resources are not checked because a parameter has no value, and how to
// give one.
func (f *file) undecided() (notes []string) {
	var names []string
	of := map[string][]string{}
	for _, u := range f.Unknown {
		if u.Parameter == "" {
			continue
		}
		if of[u.Parameter] == nil {
			names = append(names, u.Parameter)
		}
		if !slices.Contains(of[u.Parameter], u.Resource) {
			of[u.Parameter] = append(of[u.Parameter], u.Resource)
		}
	}
	for _, name := range names {
		list := of[name]
		if more := len(list) - 10; more > 0 {
			list = append(list[:10:10], show.Count(more, "other resource"))
		}
		notes = append(notes, fmt.Sprintf("not checked, since parameter %s has no value: %s. Give it one: --parameter-overrides %s=VALUE", name, strings.Join(list, ", "), name))
	}
	return notes
}

// choose sets f.parameters: what the command line says, else what samconfig.toml next to
// the template says. SAM ignores those of samconfig.toml that the template does not have.
func (o *options) choose(f *file, t *template.Template) error {
	f.parameters = map[string]string{}
	path, set, err := samconfig.Parameters(command, filepath.Dir(f.path), o.configEnv)
	if err != nil {
		return err
	}
	if path == "" && o.configEnv != samconfig.DefaultEnv {
		f.notes = append(f.notes, "--config-env is not used: there is no samconfig.toml next to the template")
	}
	var used []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if t.HasParameter(name) {
			f.parameters[name] = set[name]
			used = append(used, name)
		} else {
			f.details = append(f.details, fmt.Sprintf("%s sets the parameter %s, which the template does not have", path, name))
		}
	}
	if len(used) > 0 {
		f.details = append(f.details, fmt.Sprintf("%s sets %s (--config-env %s)", path, strings.Join(used, ", "), o.configEnv))
	}
	for name, value := range o.parameters {
		if t.HasParameter(name) {
			f.parameters[name] = value
			o.used[name] = true
		}
	}
	return nil
}

// unusedParameter is an error if no template has a parameter of the command line.
func (o *options) unusedParameter(files []*file) error {
	for _, f := range files {
		if f.err != nil {
			return nil // it may have the parameter
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.parameters)) {
		if !o.used[name] {
			return cli.Usagef(command, "--parameter-overrides %s=%s: no template has that parameter", name, o.parameters[name])
		}
	}
	return nil
}

// noteSubject notes that a template has nothing to check.
func (f *file) noteSubject(t *template.Template, o template.Options) {
	if st, err := t.Stack(o); f.err == nil && err == nil && !hasSubject(st) {
		f.notes = append(f.notes, "it has no SQS queue, no event source mapping and no container with a variable SQSBATCH_…, so there is nothing to check. --for container says that containers poll without one")
	}
}

// hasSubject says whether a template has something that the rules are about.
func hasSubject(st *template.Stack) bool {
	found, err := st.Resources(template.SQSQueue, template.EventSourceMapping)
	survey := st.Survey()
	return len(found) > 0 || err != nil || len(survey.Mappings) > 0 || len(survey.Left()) > 0 || rules.HasConsumers(st)
}

// shown are the findings of the severity that is asked for, or above.
func (o *options) shown(f *file) (list []finding) {
	for i, x := range f.Findings {
		if o.counts(x) {
			list = append(list, finding{x, f.fingerprints[i]})
		}
	}
	return list
}

// counts says whether a finding is of the severity that is asked for, or above.
func (o *options) counts(f rules.Finding) bool { return rank(string(f.Severity)) <= rank(o.severity) }

// severities, the worst first.
var severities = []string{string(rules.Error), string(rules.Warning), string(rules.Note)}

func rank(severity string) int { return slices.Index(severities, severity) }

// maxLine bounds the lines that are shown. A file may be one long line.
const maxLine = 4 << 10

// line is a line of the file without its end, "" if there is none or it is too long to read. The
// file must not change after the first call.
func (f *file) line(n int) string {
	if f.lines == nil {
		f.lines = bytes.Split(f.src, []byte("\n"))
	}
	if n < 1 || n > len(f.lines) || len(f.lines[n-1]) > maxLine {
		return ""
	}
	return strings.TrimSuffix(string(f.lines[n-1]), "\r")
}

// A tally counts what was found in all files. It is the last line of --output json.
type tally struct {
	Type       string `json:"type"` // "summary"
	Files      int    `json:"files"`
	Errors     int    `json:"errors"`
	Warnings   int    `json:"warnings"`
	Notes      int    `json:"notes"`
	NotShown   int    `json:"notShown"`
	Fixed      int    `json:"fixed"`
	Suppressed int    `json:"suppressed"`
	Baseline   int    `json:"baseline"`
	Gone       int    `json:"gone"` // of the baseline
	Unknown    int    `json:"unknown"`
	Unreadable int    `json:"unreadable"`
}

func (o *options) tally(files []*file) tally {
	n := tally{Type: "summary", Files: len(files), Gone: o.gone(files)}
	for _, f := range files {
		for _, x := range f.Findings {
			switch {
			case !o.counts(x):
				n.NotShown++
			case x.Severity == rules.Error:
				n.Errors++
			case x.Severity == rules.Warning:
				n.Warnings++
			default:
				n.Notes++
			}
		}
		n.Suppressed += len(f.Suppressed)
		n.Baseline += f.accepted
		n.Unknown += len(f.Unknown)
		n.Fixed += len(f.fixed)
		if f.err != nil {
			n.Unreadable++
		}
	}
	return n
}

// found is how many findings count.
func (n tally) found() int { return n.Errors + n.Warnings + n.Notes }

// Exit statuses besides those of all commands.
const (
	foundSome   = 1
	unreadable  = 3
	interrupted = 130
)

// outcome is the error that the command ends with.
func (o *options) outcome(files []*file) error {
	var problems []error
	for _, f := range files {
		if name := f.name(); f.err != nil && name != f.path {
			f.err = errors.New(strings.ReplaceAll(f.err.Error(), f.path, name))
		}
		problems = append(problems, f.err)
	}
	if err := errors.Join(problems...); err != nil {
		return &cli.StatusError{Status: unreadable, Err: err}
	}
	if n := o.tally(files).found(); n > 0 && o.output != "baseline" {
		return &cli.StatusError{Status: foundSome, Err: fmt.Errorf("%s of severity %s or above", show.Count(n, "finding"), o.severity)}
	}
	return nil
}
