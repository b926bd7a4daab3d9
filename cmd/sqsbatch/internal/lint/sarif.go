package lint

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// An object is one of JSON. Which of them SARIF has is in "Static Analysis Results Interchange
// Format (SARIF) Version 2.1.0", OASIS. test/compat/formats compares what is written with its schema.
type object map[string]any

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	home        = "https://github.com/sqsbatch/sqsbatch"
)

// writeSARIF writes one run, with all rules and what was found.
func writeSARIF(out io.Writer, o *options, files []*file) error {
	results, notes, read := []object{}, []object{}, true // not null: nothing was found
	for _, f := range files {
		s := sarifFile{file: f, at: artifact(o.base, f.path)}
		fingerprint := o.fingerprints(f.path)
		for _, x := range f.Findings {
			fingerprint(x) // those of suppressed findings come after them
		}
		for _, x := range o.shown(f) {
			results = append(results, s.result(x))
		}
		for _, x := range f.Suppressed {
			r := s.result(finding{x.Finding, fingerprint(x.Finding)})
			r["suppressions"] = []object{{"kind": "inSource", "justification": x.Reason, "location": s.location(x.By, 0, "")}}
			results = append(results, r)
		}
		for _, u := range f.Unknown {
			notes = append(notes, notification("note", "not checked: "+u.Message, s.location(u.Pos, u.EndCol, u.Resource)))
		}
		if f.err != nil {
			read = false
			notes = append(notes, notification("error", f.err.Error(), object{"physicalLocation": object{"artifactLocation": s.at}}))
		}
	}
	driver := object{"name": "sqsbatch lint", "informationUri": home, "rules": sarifRules()}
	if o.version != "" && !strings.HasPrefix(o.version, "(devel)") { // that is of an unknown commit
		driver["version"] = o.version
	}
	run := object{
		"tool":        object{"driver": driver},
		"invocations": []object{{"executionSuccessful": read, "toolExecutionNotifications": notes}},
		"results":     results,
		"columnKind":  "unicodeCodePoints",
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(object{"$schema": sarifSchema, "version": "2.1.0", "runs": []object{run}})
}

func message(text string) object { return object{"text": text} }

// notification says what could not be checked.
func notification(level, text string, at object) object {
	return object{"level": level, "message": message(text), "locations": []object{at}}
}

func sarifRules() (list []object) {
	for _, r := range rules.Rules() {
		link, source := home+"/blob/main/docs/"+r.Document(), ""
		if r.Page != "" {
			source = "\n\nAWS's page: " + r.Page + "."
		}
		list = append(list, object{
			"id": r.ID, "shortDescription": message(r.Title), "fullDescription": message(r.Why), "helpUri": link,
			"help": object{
				"text":     r.Title + ".\n\n" + r.Why + source,
				"markdown": "**" + r.Title + ".** " + r.Why + source + "\n\n[" + r.ID + "](" + link + ")",
			},
			"defaultConfiguration": object{"level": r.Severity},
			"properties":           object{"tags": []string{"aws", "lambda", "sqs"}},
		})
	}
	return list
}

// A sarifFile makes results of one file.
type sarifFile struct {
	*file
	at object // its artifactLocation
}

func (s *sarifFile) result(x finding) object {
	x.Message = x.addressed()
	r := object{
		"ruleId": x.ID, "level": x.Severity, "message": message(x.Message),
		"ruleIndex":           slices.IndexFunc(rules.Rules(), func(i rules.Info) bool { return i.ID == x.ID }),
		"locations":           []object{s.location(x.Pos, x.EndCol, x.Resource)},
		"partialFingerprints": object{"primaryLocationLineHash": x.fingerprint},
		"suppressions":        []object{}, // not null: this one is not suppressed
	}
	if x.Fix != nil && x.Fix.Edit != (template.Edit{}) {
		e := x.Fix.Edit
		replacement := object{"deletedRegion": s.region(e.Start, e.End), "insertedContent": message(e.New)}
		change := object{"artifactLocation": s.at, "replacements": []object{replacement}}
		r["fixes"] = []object{{"description": message(x.Fix.Says), "artifactChanges": []object{change}}}
	}
	return r
}

// location is a place in the file; one without a line is the first line.
func (s *sarifFile) location(at template.Pos, end int, resource string) object {
	region := object{"startLine": max(1, at.Line)}
	if at.Line > 0 && at.Col > 0 {
		region["startColumn"], region["snippet"] = at.Col, message(s.line(at.Line))
		if end > at.Col {
			region["endLine"], region["endColumn"] = at.Line, end
		}
	}
	l := object{"physicalLocation": object{"artifactLocation": s.at, "region": region}}
	if resource != "" {
		l["logicalLocations"] = []object{{"name": resource, "kind": "resource"}}
	}
	return l
}

// region is the lines and columns of bytes of the file.
func (s *sarifFile) region(start, end int) object {
	line, column := s.position(start)
	endLine, endColumn := s.position(end)
	return object{"startLine": line, "startColumn": column, "endLine": endLine, "endColumn": endColumn}
}

func (s *sarifFile) position(offset int) (line, column int) {
	before := string(s.src[:offset])
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// artifact names a file by a URI, below the root of the sources if it is there.
func artifact(base, path string) object {
	if ofQueue(path) {
		return object{"uri": path} // an ARN is a URI
	}
	name := relative(base, path)
	if filepath.IsAbs(filepath.FromSlash(name)) {
		if !strings.HasPrefix(name, "/") {
			name = "/" + name // of a drive
		}
		return object{"uri": (&url.URL{Scheme: "file", Path: name}).String()}
	}
	return object{"uri": (&url.URL{Path: name}).String(), "uriBaseId": "%SRCROOT%"}
}

// relative is a path below base, else below the current directory, else the absolute
// one, with slashes.
func relative(base, path string) string {
	if ofQueue(path) {
		return path
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	here, _ := os.Getwd()
	for _, dir := range []string{base, here} { // full is below neither if it is ""
		if below, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
	}
	return filepath.ToSlash(full)
}
