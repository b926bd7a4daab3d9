package lint_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// Names of files and resources that would be commands, lines or other files, if an output took them as they are.
func TestOutputs_HostileNames(t *testing.T) {
	const evil = "Q\n::set-output name=a::b\r::error::c\x1b[2J\u202e\u2028%0A<!--\"'&\t,:%"
	quoted, err := json.Marshal(evil)
	golden.OK(t, err)
	yaml := strings.ReplaceAll(otherType, "  Q:", "  "+string(quoted)+":")
	plan := `{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": ` + string(quoted) + `, "mode": "managed", "type": "aws_sqs_queue", "name": "q", "values":
		{"name": ` + string(quoted) + `, "fifo_queue": true, "redrive_policy": "{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-west-1:123456789012:dead\",\"maxReceiveCount\":5}"}}]}}}`
	for name, text := range map[string]string{
		"a b/c,d%0A:e.yaml": yaml, "c:d\n::error::x\x1b[2J.yaml": yaml, "--x.json": plan, "../plan.json": plan, "#?&.json": plan, "::error::x.json": plan, "e\n::error::x\x1b[2J.yaml": "[]",
		"fix.yaml": "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      FifoQueue: true\n      FifoThroughputLimit: perMessageGroupId\n    Metadata:\n      a: |\n        ::error::x\n",
	} {
		dir := golden.Files(t, map[string]string{"in/x": ""})
		path := filepath.Join(dir, "in", filepath.FromSlash(name))
		golden.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		golden.OK(t, os.WriteFile(path, []byte(text), 0o600))
		t.Chdir(filepath.Join(dir, "in"))
		for _, output := range []string{"text", "json", "sarif", "github", "gitlab", "baseline"} {
			status, stdout, stderr := run(t, "--severity", "error", "--output", output, "--", name)
			want := 1
			switch {
			case text == "[]":
				want = 3
			case output == "baseline":
				want = 0
			}
			if status != want {
				t.Errorf("%s of %q: status %d", output, name, status)
			}
			machine := output == "json" || output == "sarif" || output == "gitlab"
			for what, s := range map[string]string{"standard error": stderr, "standard output": stdout} {
				for line := range strings.Lines(s) {
					if strings.HasPrefix(strings.TrimSpace(line), "::") && (what == "standard error" || output != "github" || !strings.HasPrefix(line, "::error file=")) {
						t.Errorf("%s of %q: %s has the command %q", output, name, what, line)
					}
				}
				if i := strings.IndexFunc(s, func(r rune) bool {
					return r != '\n' && r != '\t' && unicode.IsControl(r) || !(machine && what == "standard output") && strings.ContainsRune("\u202e\u2028", r)
				}); i >= 0 {
					t.Errorf("%s of %q: %s has %q", output, name, what, s[i:min(i+9, len(s))])
				}
			}
			switch output {
			case "sarif", "gitlab":
				var report any
				if err := json.Unmarshal([]byte(stdout), &report); err != nil {
					t.Errorf("%s of %q: %v", output, name, err)
				}
				uris(t, report, path)
			case "json":
				rows(t, stdout)
			case "baseline":
				golden.OK(t, os.WriteFile("known", []byte(stdout), 0o600))
				if status, _, stderr := run(t, "--severity", "error", "--baseline", "known", "--", name); status != 0 && text != "[]" {
					t.Errorf("with the baseline of %q: status %d, %s", name, status, stderr)
				}
			}
		}
	}
}

// uris checks that each URI in a report is that of the file.
func uris(t *testing.T, report any, path string) {
	t.Helper()
	switch v := report.(type) {
	case []any:
		for _, item := range v {
			uris(t, item, path)
		}
	case map[string]any:
		text, _ := v["uri"].(string)
		if v["uriBaseId"] == "%SRCROOT%" {
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "" || u.RawQuery != "" || u.Fragment != "" {
				t.Errorf("the URI %q: %v", text, err)
				return
			}
			if full, _ := filepath.Abs(filepath.FromSlash(u.Path)); full != path {
				t.Errorf("the URI %q is of %q, not of %q", text, full, path)
			}
		}
		for _, item := range v {
			uris(t, item, path)
		}
	}
}
