package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	rules "github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// What this command uses of SARIF ("Static Analysis Results Interchange Format (SARIF)
// Version 2.1.0", OASIS). test/sarif compares it with the schema.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string          `json:"id"`
		Short   sarifText       `json:"shortDescription"`
		Full    sarifText       `json:"fullDescription"`
		Help    sarifMarkdown   `json:"help"`
		HelpURI string          `json:"helpUri"`
		Default sarifLevel      `json:"defaultConfiguration"`
		More    sarifProperties `json:"properties"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifMarkdown struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifProperties struct {
		Tags []string `json:"tags"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Fixes        []sarifFix         `json:"fixes,omitempty"`
		Suppressions []sarifSuppression `json:"suppressions"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	sarifArtifact struct {
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndLine     int        `json:"endLine,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifSuppression struct {
		Kind          string         `json:"kind"`
		Justification string         `json:"justification,omitempty"`
		Location      *sarifLocation `json:"location,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	home        = "https://github.com/sqsbatch/sqsbatch"
)

// writeSARIF writes one run, with all rules and what was found.
func writeSARIF(out io.Writer, o *options, files []*file) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "sqsbatch lint", Version: o.version, InformationURI: home, Rules: sarifRules()}},
		Invocations: []sarifInvocation{{Successful: true, Notifications: []sarifNotification{}}},
		Results:     []sarifResult{}, // not null: nothing was found
		ColumnKind:  "unicodeCodePoints",
	}
	for _, f := range files {
		s := sarifFile{file: f, at: artifact(o.base, f.path), seen: map[string]int{}}
		for _, x := range o.shown(f) {
			run.Results = append(run.Results, s.result(x))
		}
		for _, x := range f.Suppressed {
			run.Results = append(run.Results, s.suppressed(x))
		}
		run.Invocations[0].add(s)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRules() []sarifRule {
	list := []sarifRule{}
	for _, r := range rules.Rules() {
		link := home + "/blob/main/docs/" + r.Document()
		source := ""
		if name := page(r); name != "" {
			source = "\n\nAWS's page: " + name + "."
		}
		list = append(list, sarifRule{
			ID: r.ID, Short: sarifText{r.Title}, Full: sarifText{r.Why},
			Help: sarifMarkdown{
				Text:     r.Title + ".\n\n" + r.Why + source,
				Markdown: "**" + r.Title + ".** " + r.Why + source + "\n\n[" + r.ID + "](" + link + ")",
			},
			HelpURI: link, Default: sarifLevel{string(r.Severity)}, More: sarifProperties{[]string{"aws", "lambda", "sqs"}},
		})
	}
	return list
}

// A sarifFile makes results of one file.
type sarifFile struct {
	*file
	at   sarifArtifact
	seen map[string]int // how many results have a fingerprint
}

func (s *sarifFile) result(x rules.Finding) sarifResult {
	r := sarifResult{
		RuleID: x.ID, Level: string(x.Severity), Message: sarifText{x.Message},
		RuleIndex:    slices.IndexFunc(rules.Rules(), func(i rules.Info) bool { return i.ID == x.ID }),
		Locations:    []sarifLocation{s.location(x.Pos, x.EndCol, x.Resource)},
		Fingerprints: map[string]string{"primaryLocationLineHash": s.fingerprint(x)},
		Suppressions: []sarifSuppression{}, // not null: this one is not suppressed
	}
	if x.Fix != nil {
		e := x.Fix.Edit
		change := sarifChange{s.at, []sarifReplacement{{s.region(e.Start, e.End), sarifText{e.New}}}}
		r.Fixes = []sarifFix{{Description: sarifText{x.Fix.Says}, Changes: []sarifChange{change}}}
	}
	return r
}

func (s *sarifFile) suppressed(x rules.Suppressed) sarifResult {
	r := s.result(x.Finding)
	at := s.location(x.By, 0, "")
	r.Suppressions = []sarifSuppression{{Kind: "inSource", Justification: x.Reason, Location: &at}}
	return r
}

// fingerprint names a finding by its rule, file and resource, so that it stays the same
// when lines move and words change. Several of a resource are numbered.
func (s *sarifFile) fingerprint(x rules.Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{x.ID, s.at.URI, x.Resource}, "\x00")))
	hash := hex.EncodeToString(sum[:8])
	s.seen[hash]++
	return fmt.Sprintf("%s:%d", hash, s.seen[hash])
}

// location is a place in the file; one without a line is the first line.
func (s *sarifFile) location(at template.Pos, end int, resource string) sarifLocation {
	region := &sarifRegion{StartLine: max(1, at.Line)}
	if at.Line > 0 && at.Col > 0 {
		region.StartColumn = at.Col
		if end > at.Col {
			region.EndLine, region.EndColumn = at.Line, end
		}
		region.Snippet = &sarifText{s.line(at.Line)}
	}
	l := sarifLocation{Physical: sarifPhysical{s.at, region}}
	if resource != "" {
		l.Logical = []sarifLogical{{resource, "resource"}}
	}
	return l
}

// region is the lines and columns of bytes of the file.
func (s *sarifFile) region(start, end int) sarifRegion {
	r := sarifRegion{}
	r.StartLine, r.StartColumn = s.position(start)
	r.EndLine, r.EndColumn = s.position(end)
	return r
}

func (s *sarifFile) position(offset int) (line, column int) {
	before := string(s.src[:min(max(offset, 0), len(s.src))])
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// add says what could not be checked.
func (i *sarifInvocation) add(s sarifFile) {
	for _, u := range s.Unknown {
		i.Notifications = append(i.Notifications, sarifNotification{
			"note", sarifText{"not checked: " + u.Message}, []sarifLocation{s.location(u.Pos, u.EndCol, u.Resource)},
		})
	}
	if s.err != nil {
		i.Successful = false
		i.Notifications = append(i.Notifications, sarifNotification{
			"error", sarifText{s.err.Error()}, []sarifLocation{{Physical: sarifPhysical{Artifact: s.at}}},
		})
	}
}

// artifact names a file by a URI, below the root of the sources if it is there.
func artifact(base, path string) sarifArtifact {
	name := relative(base, path)
	if filepath.IsAbs(filepath.FromSlash(name)) {
		if !strings.HasPrefix(name, "/") {
			name = "/" + name // of a drive
		}
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: name}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: name}).EscapedPath(), BaseID: "%SRCROOT%"}
}

// relative is a path below base, else below the current directory, else the absolute
// one, with slashes.
func relative(base, path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	here, _ := os.Getwd() // "" is below nothing
	for _, dir := range []string{base, here} {
		if dir == "" {
			continue
		}
		if below, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
	}
	return filepath.ToSlash(full)
}
