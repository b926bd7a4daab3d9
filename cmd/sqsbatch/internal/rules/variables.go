package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	spelling "github.com/sqsbatch/sqsbatch/internal/words"
)

// Variables are the environment variables of a function or a container.
type Variables struct {
	title  string                    // what messages call the function or the container
	pos    template.Pos              // of the function or the container
	on     settings.Mode             // where it runs
	values map[string]template.Value // by name
	texts  map[string]string         // those that are known
	more   string                    // where other variables may come from, "" if all are listed
}

// set adds a variable, in place of an earlier one of that name.
func (v *Variables) set(name string, value template.Value) {
	if v.values == nil {
		v.values = map[string]template.Value{}
	}
	text, err := value.Str()
	if err == nil && strings.ContainsAny(text, "$<>{}%") { // ${X}, $(X), {{ .X }} or <x>
		err = &template.Error{Pos: value.Pos, Message: "it is filled in later"}
	}
	delete(v.texts, name)
	if err != nil {
		value = template.Value{Pos: value.Pos, Err: err}
	} else {
		v.put(name, text)
	}
	v.values[name] = value
}

func (v *Variables) put(name, text string) {
	if v.texts == nil {
		v.texts = map[string]string{}
	}
	v.texts[name] = text
}

// variablesOf returns the variables of a function.
func variablesOf(f template.Function) Variables {
	v := Variables{title: "function " + f.LogicalID, pos: f.Resource.Pos, on: settings.Lambda}
	in := f.Resource.Get("Environment", "Variables")
	for name := range in.Entries() {
		v.set(name, in.Get(name))
	}
	if in.Err != nil {
		v.more = template.Reason(v.pos, in.Err)
	}
	for _, s := range settings.All { // of Globals
		if value := valueOf(f, *s); in.Err == nil && !value.Absent() {
			v.set(s.Name, value)
		}
	}
	for name, text := range f.Environment {
		v.put(name, text)
	}
	return v
}

// toolkit reports whether one of the variables is the toolkit's.
func (v Variables) toolkit() bool {
	for name := range v.values {
		if strings.HasPrefix(name, settings.Prefix) {
			return true
		}
	}
	return false
}

// known reports whether the value of a setting is known. If it is not, it says so.
func (v Variables) known(r *reporter, list ...settings.Setting) bool {
	for _, s := range list {
		value, set := v.values[s.Name]
		switch {
		case set && value.Err != nil:
			r.unsure(value.Pos, "%s is not known: %s", s.Name, template.Reason(value.Pos, value.Err))
			return false
		case !set && v.more != "":
			r.unsure(v.pos, "%s of %s is not known: %s", s.Name, v.title, v.more)
			return false
		}
	}
	return true
}

// read returns the value of a setting, nil if it is not set, not known or refused.
func (v Variables) read(s settings.Setting) any {
	if v.texts[s.Name] == "" {
		return nil
	}
	value, err := s.Read(v.texts[s.Name])
	if err != nil {
		return nil
	}
	return value
}

// duration returns a setting, or its default if it is not set, not known or refused.
func (v Variables) duration(s settings.Setting) time.Duration {
	value := v.read(s)
	if value == nil {
		value, _ = s.Read(s.Default)
	}
	d, _ := value.(time.Duration) // 0 without a default
	return d
}

// number returns a setting, 0 if it is not set, not known or refused.
func (v Variables) number(s settings.Setting) int {
	n, _ := v.read(s).(int)
	return n
}

// ours lists the toolkit's variables that are there, by name.
func (v Variables) ours() (names []string) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.values)), func(name string) bool { return !strings.HasPrefix(name, settings.Prefix) })
}

// settingOf returns the setting of a variable, nil if there is none.
func settingOf(name string) *settings.Setting {
	i := slices.IndexFunc(settings.All, func(s *settings.Setting) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return settings.All[i]
}

// maxValue bounds the part of a value in a message, in bytes.
const maxValue = 80

// Environments are the rules of variables.
var Environments = []Rule[Variables]{
	{
		Info: Info{ID: "SB401", Severity: Error,
			Title: "The toolkit refuses the value of a variable",
			Why:   "The program ends at its start and names the variable, and a function fails each invocation. A field of handler.Config in code comes before its variable, whose value then does not matter."},
		check: func(v Variables, r *reporter) {
			for _, name := range v.ours() {
				s := settingOf(name)
				if s == nil || s.On&v.on == 0 || !v.known(r, *s) || v.texts[name] == "" {
					continue
				}
				if _, err := s.Read(v.texts[name]); err != nil {
					r.report(v.values[name].Pos, "%s has %s=%q: it %s", v.title, name, spelling.Shorten(v.texts[name], maxValue), spelling.Shorten(err.Error(), 3*maxValue))
				}
			}
			v.contradict(r)
		},
	},
	{
		Info: Info{ID: "SB402", Severity: Warning,
			Title: "A variable that the toolkit does not know",
			Why:   "It has no effect: a misspelled variable leaves the setting at its default. The program logs it, too."},
		check: func(v Variables, r *reporter) {
			for _, name := range v.ours() {
				if settingOf(name) != nil {
					continue
				}
				meant := ""
				if nearest := spelling.Nearest(strings.TrimPrefix(name, settings.Prefix), settings.Names()); nearest != "" {
					meant = fmt.Sprintf("; is %s%s meant?", settings.Prefix, nearest)
				}
				r.report(v.values[name].Pos, "%s has the variable %s, which the toolkit does not know%s", v.title, name, meant)
			}
		},
	},
	{
		Info: Info{ID: "SB403", Severity: Note,
			Title: "A variable has no effect where the program runs",
			Why:   "Some settings count only on Lambda, others only in a container. This may be on purpose if both share their variables."},
		check: func(v Variables, r *reporter) {
			where := "on Lambda"
			if v.on == settings.Container {
				where = "in a container"
			}
			for _, name := range v.ours() {
				if s := settingOf(name); s != nil && s.On&v.on == 0 {
					r.report(v.values[name].Pos, "%s has %s, which has no effect %s", v.title, name, where)
				}
			}
		},
	},
}

// contradict reports settings of the backoff that the toolkit refuses together.
func (v Variables) contradict(r *reporter) {
	outage, spaced := v.texts[settings.Outage.Name], ""
	for _, s := range []settings.Setting{settings.Backoff, settings.BackoffBase, settings.BackoffCap} {
		if v.texts[s.Name] != "" {
			spaced = s.Name
		}
	}
	if outage != "" && spaced != "" {
		r.report(v.values[settings.Outage.Name].Pos, "%s has %s and %s: set one of them", v.title, settings.Outage.Name, spaced)
	}
	base, _ := v.read(settings.BackoffBase).(time.Duration)
	if limit, _ := v.read(settings.BackoffCap).(time.Duration); limit > 0 && base > limit {
		r.report(v.values[settings.BackoffBase.Name].Pos, "%s has %s=%v, above %s=%v", v.title, settings.BackoffBase.Name, base, settings.BackoffCap.Name, limit)
	}
}
