package lint_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// inFolder makes the current directory one with these files.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		golden.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// A baseline hides what is in it, wherever its lines move to, and nothing else.
func TestBaseline_OnlyNewFindingsAreReported(t *testing.T) {
	inFolder(t, map[string]string{"template.yaml": retention})
	status, stdout, stderr := run(t, "--output", "baseline")
	if status != 0 || strings.Count(stdout, "SB204") != 1 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	golden.OK(t, os.WriteFile("known", []byte(stdout), 0o600))
	if status, stdout, _ = run(t, "--baseline", "known"); status != 0 || !strings.Contains(stdout, "1 in the baseline") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	// The line moves, and another resource has the same finding.
	golden.OK(t, os.WriteFile("template.yaml", []byte("# moved\n"+retention+`  Q2: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60, RedrivePolicy: {deadLetterTargetArn: !GetAtt D2.Arn, maxReceiveCount: 5}}}
  D2: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 60}}
`), 0o600))
	status, stdout, _ = run(t, "--baseline", "known", "--output", "json")
	if list := found(t, stdout, "finding"); status != 1 || len(list) != 1 || list[0] != "SB204 D2" {
		t.Errorf("status %d, %q", status, list)
	}
	golden.OK(t, os.WriteFile("template.yaml", []byte(clean), 0o600))
	if status, stdout, _ = run(t, "--baseline", "known"); status != 0 || !strings.Contains(stdout, "1 only in the baseline") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	golden.OK(t, os.WriteFile("known", []byte("SB204\n"), 0o600))
	if status, _, stderr = run(t, "--baseline", "known"); status != 3 || !strings.Contains(stderr, `known:1: "SB204" is no fingerprint`) {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestConfiguration(t *testing.T) {
	for text, test := range map[string]struct {
		status int
		says   string
	}{
		"":                      {1, "warning SB204"},
		"rules: {SB204: off}":   {0, "0 warnings"},
		"rules: {SB204: error}": {1, "error SB204"},
		"severity: error":       {0, "of lower severity"},
		"baseline: known":       {0, "1 in the baseline"},
		"rules: {SB999: off}":   {3, ".sqsbatch-lint.yaml: there is no rule SB999"},
		"rules: {SB204: never}": {3, `SB204 is "never"`},
		"severity: all":         {3, `severity is "all"`},
		"rule: {SB204: off}":    {3, "field rule not found"},
		"baseline: other":       {3, "other"},
	} {
		t.Run(text, func(t *testing.T) {
			inFolder(t, map[string]string{"template.yaml": retention})
			_, known, _ := run(t, "--output", "baseline")
			golden.OK(t, os.WriteFile("known", []byte(known), 0o600))
			golden.OK(t, os.WriteFile(".sqsbatch-lint.yaml", []byte(text), 0o600))
			status, stdout, stderr := run(t)
			if status != test.status || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("status %d, want %d and %q\n%s%s", status, test.status, test.says, stdout, stderr)
			}
		})
	}
	if status, _, stderr := run(t, "--config", "missing.yaml"); status != 3 || !strings.Contains(stderr, "missing.yaml") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestRules_AreListedAndExplained(t *testing.T) {
	if status, stdout, _ := run(t, "--list-rules"); status != 0 || !strings.Contains(stdout, "SB204  warning  ") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	if status, stdout, _ := run(t, "--explain", "sb204"); status != 0 || !strings.HasPrefix(stdout, "SB204 warning: ") || !strings.Contains(stdout, "docs/lint/queues.md#sb204") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	if status, _, stderr := run(t, "--explain", "SB999"); status != 2 || !strings.Contains(stderr, "--list-rules") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// Configurations and baselines of any text end in a result or an error.
func FuzzConfigAndBaseline(f *testing.F) {
	f.Add([]byte("severity: warning\nbaseline: b\nrules: {SB215: off}\n"))
	f.Add([]byte("# a\n0123456789abcdef:1 SB201 t.yaml Q\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		inFolder(t, map[string]string{"in": string(data), "t.yaml": clean})
		for _, flag := range []string{"--config", "--baseline"} {
			if status, _, stderr := run(t, flag, "in", "t.yaml"); status != 0 && status != 3 {
				t.Errorf("%s: status %d: %s", flag, status, stderr)
			}
		}
	})
}
