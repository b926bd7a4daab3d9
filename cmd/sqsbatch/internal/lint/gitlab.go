package lint

import (
	"encoding/json"
	"io"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
)

// An issue is one of a report for GitLab ("Code Quality report format", GitLab Docs).
type issue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// gitlabSeverities are GitLab's severities.
var gitlabSeverities = map[rules.Severity]string{rules.Error: "critical", rules.Warning: "major", rules.Note: "info"}

// writeGitLab writes a report of code quality.
func writeGitLab(out io.Writer, o *options, files []*file) error {
	issues := []issue{}
	for _, f := range files {
		for _, x := range o.shown(f) {
			i := issue{Description: x.addressed(), CheckName: x.ID, Fingerprint: x.fingerprint, Severity: gitlabSeverities[x.Severity]}
			i.Location.Path, i.Location.Lines.Begin = relative(o.base, f.path), max(1, x.Pos.Line)
			issues = append(issues, i)
		}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(issues)
}
