package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A finding is one of a file, with its fingerprint.
type finding struct {
	rules.Finding
	fingerprint string
}

// addressed is the message, after the address and the attribute in a plan of Terraform, which has no
// lines.
func (x finding) addressed() string {
	if x.Pos.Line > 0 || x.Resource == "" {
		return x.Message
	}
	return strings.TrimSuffix(x.Resource+"."+x.Attribute, ".") + ": " + x.Message
}

// fingerprints returns a function that names findings of a file by their rule, file and resource,
// so that a name stays the same when lines move and words change. Several of a resource are
// numbered.
func (o *options) fingerprints(path string) func(rules.Finding) string {
	uri, seen := artifact(o.base, path)["uri"].(string), map[string]int{}
	return func(x rules.Finding) string {
		sum := sha256.Sum256([]byte(strings.Join([]string{x.ID, uri, x.Resource}, "\x00")))
		hash := hex.EncodeToString(sum[:8])
		seen[hash]++
		return fmt.Sprintf("%s:%d", hash, seen[hash])
	}
}

// A baseline has the findings that are not reported, by their fingerprints.
type baseline map[string]*accepted

// An accepted finding is one of a baseline.
type accepted struct {
	uri   string // of its file
	found bool   // there still is such a finding
}

// maxBaseline bounds the text of a baseline.
const maxBaseline = 16 << 20

// readBaseline reads a file that --output baseline wrote: fingerprint, rule, URI and resource in
// each line, and lines that begin with #.
func readBaseline(path string) (baseline, error) {
	data, err := template.ReadFile(path, maxBaseline)
	if err != nil {
		return nil, err
	}
	b := baseline{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		hash, number, ok := strings.Cut(fields[0], ":")
		if _, err := hex.DecodeString(hash); err != nil || !ok || len(hash) != 16 || number == "" {
			return nil, fmt.Errorf("%s:%d: %q is no fingerprint; sqsbatch lint --output baseline writes the file", path, n, fields[0])
		}
		b[fields[0]] = &accepted{}
		if len(fields) > 2 {
			b[fields[0]].uri = fields[2]
		}
	}
	return b, nil
}

// writeBaseline writes a line for each finding of the severity that is asked for.
func writeBaseline(out io.Writer, o *options, files []*file) error {
	var b strings.Builder
	b.WriteString("# Findings that sqsbatch lint --baseline does not report.\n")
	for _, f := range files {
		for _, x := range o.shown(f) {
			fmt.Fprintf(&b, "%s %s %s %s\n", x.fingerprint, x.ID, artifact(o.base, f.path)["uri"], show.Clean(x.Resource))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// gone is how many findings of the baseline there are no more in the files that were checked.
func (o *options) gone(files []*file) (n int) {
	for _, a := range o.known {
		if !a.found && slices.ContainsFunc(files, func(f *file) bool { return artifact(o.base, f.path)["uri"] == a.uri && f.err == nil }) {
			n++
		}
	}
	return n
}
