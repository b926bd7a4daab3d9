package lint_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// run runs `sqsbatch lint` with arguments.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv("GITHUB_WORKSPACE", "") // CI sets it
	return from(t, nil, nil, args...)
}

// A row is what a test reads of a line of the JSON output.
type row struct{ Type, Rule, File, Stack, Resource string }

func rows(t *testing.T, output string) (all []row) {
	t.Helper()
	for line := range strings.Lines(output) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// found lists the lines of a kind, each as a rule and its resource.
func found(t *testing.T, output, kind string) (rules []string) {
	t.Helper()
	for _, r := range rows(t, output) {
		if r.Type == kind {
			rules = append(rules, strings.TrimSpace(r.Rule+" "+r.Resource))
		}
	}
	return rules
}

// The same template in each form of the output.
func TestOutputs(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "shop"))
	for name, args := range map[string][]string{
		"text.txt":     {"--severity", "note"},
		"verbose.txt":  {"--verbose", "--config-env", "slow", "--parameter-overrides", "Concurrency=5"},
		"output.jsonl": {"--output", "json", "--severity", "note"},
		"output.sarif": {"--output", "sarif", "--severity", "note"},
		"github.txt":   {"--output", "github", "--severity", "note"},
		"gitlab.json":  {"--output", "gitlab", "--severity", "note"},
	} {
		status, stdout, stderr := run(t, args...)
		if status != 1 {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
		}
		golden.Check(t, filepath.Join("..", "..", name), stdout) // testdata, from here
	}
}

// A plan of Terraform, which has addresses instead of lines. --fix leaves it alone.
func TestOutputsOfAPlan(t *testing.T) {
	t.Chdir(filepath.Join("..", "terraform", "testdata"))
	for name, args := range map[string][]string{
		"plan.txt":   {"module.json", "--fix"},
		"plan.jsonl": {"module.json", "--output", "json"},
		"plan.sarif": {"module.json", "--output", "sarif"},
	} {
		status, stdout, stderr := run(t, args...)
		if status != 1 {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
		}
		if name == "plan.sarif" {
			stdout = stdout[strings.Index(stdout, "\"results\""):] // the rules are in output.sarif
		}
		golden.Check(t, filepath.Join("..", "..", "..", "lint", "testdata", name), stdout)
	}
	if status, _, stderr := from(t, strings.NewReader(`{"version": 3, "terraform_version": "0.11.4", "modules": []}`), nil, "-"); status != 3 || !strings.Contains(stderr, "terraform show -json") {
		t.Errorf("an old state: status %d, %s", status, stderr)
	}
}

// Manifests of Kubernetes, which have lines, suppressions and fixes as templates have.
func TestOutputsOfManifests(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "pods"))
	for name, args := range map[string][]string{
		"pods.txt":   {"orders.yaml", "--severity", "note", "--verbose"},
		"pods.jsonl": {"orders.yaml", "--severity", "note", "--output", "json"},
	} {
		status, stdout, stderr := run(t, args...)
		if status != 1 {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
		}
		golden.Check(t, filepath.Join("..", "..", name), stdout)
	}
	text, err := os.ReadFile("orders.yaml")
	golden.OK(t, err)
	path := filepath.Join(golden.Files(t, map[string]string{"orders.yaml": string(text)}), "orders.yaml")
	_, stdout, _ := run(t, "--fix", path)
	fixed, err := os.ReadFile(path)
	golden.OK(t, err)
	if want := strings.Replace(string(text), "Seconds: 30", "Seconds: 66", 1); string(fixed) != want || !strings.Contains(stdout, "1 fixed") {
		t.Errorf("%s%s", stdout, fixed)
	}
}

// A container without a variable of the toolkit is checked only if it is said to poll.
func TestForContainer(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"terminationGracePeriodSeconds": 5, "containers": [{"name": "c"}]}}`
	const task = `{"taskDefinition": {"family": "web", "containerDefinitions": [{"name": "c", "stopTimeout": 5}]}}`
	for _, text := range []string{pod, task} {
		status, stdout, _ := from(t, strings.NewReader(text), nil, "-")
		if status != 0 || !strings.Contains(stdout, "--for container says that containers poll without one") {
			t.Errorf("status %d\n%s", status, stdout)
		}
		status, stdout, _ = from(t, strings.NewReader(text), nil, "--for", "container", "-")
		if status != 1 || !strings.Contains(stdout, "-:1:") || !strings.Contains(stdout, "SB404") {
			t.Errorf("status %d\n%s", status, stdout)
		}
	}
	if status, _, stderr := run(t, "--for", "x"); status != 2 || !strings.Contains(stderr, "it must be container") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr := from(t, strings.NewReader("apiVersion: v1\nkind: {{ .Kind }}\n"), nil, "-"); status != 3 || !strings.Contains(stderr, "helm template") {
		t.Errorf("a template of Helm: status %d, %s", status, stderr)
	}
}

const (
	// clean has nothing that a rule finds, of any severity but a note.
	clean = `Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
`
	// retention has one warning, because Q has no dead-letter queue that keeps messages
	// long enough.
	retention = `Parameters: {Count: {Type: Number, Default: 5}}
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: !Ref Count}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 3600}}
`
	// otherType has one error, because the dead-letter queue is of the other type.
	otherType = `Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
`
)

func TestExitStatus(t *testing.T) {
	dir := golden.Files(t, map[string]string{
		"clean.yaml": clean, "warning.yaml": retention, "error.yaml": otherType, "broken.yaml": "Resources: {\n", "other.yaml": "a: 1\n",
		"empty/readme.md": "", "template.yml": otherType,
		"sam/template.yaml": clean, "sam/samconfig.toml": "[prod.deploy.parameters]\n", "bad/template.yaml": clean, "bad/samconfig.toml": "=",
	})
	t.Chdir(dir)
	for _, tt := range []struct {
		args   []string
		status int
		stderr string
	}{
		{nil, 1, "1 finding of severity warning or above"}, // of the template here
		{[]string{"clean.yaml"}, 0, ""},
		{[]string{"warning.yaml"}, 1, "1 finding of severity warning or above"},
		{[]string{"warning.yaml", "--severity", "error"}, 0, ""},
		{[]string{"error.yaml", "--severity", "error"}, 1, "1 finding of severity error or above"},
		{[]string{"warning.yaml", "--severity", "bad"}, 2, "it must be error, warning or note"},
		{[]string{"clean.yaml", "--parameter-overrides", "A=1"}, 2, "--parameter-overrides A=1: no template has that parameter"},
		{[]string{"warning.yaml", "clean.yaml", "--parameter", "Count=6"}, 1, ""},
		{[]string{"warning.yaml", "--parameter-overrides", "Count=6", "Counts=7"}, 2, "Counts=7"},
		{[]string{"sam", "--config-env", "prd"}, 2, "is prod meant?"},
		{[]string{"missing.yaml"}, 3, "there is no missing.yaml"},
		{[]string{"empty"}, 3, "empty has no template"},
		{[]string{"broken.yaml"}, 3, "broken.yaml: yaml: "},
		{[]string{"other.yaml"}, 3, "not a SAM or CloudFormation template"},
		{[]string{"bad"}, 3, "samconfig.toml"},
		{[]string{"error.yaml", "broken.yaml", "clean.yaml"}, 3, "broken.yaml"},
	} {
		status, _, stderr := run(t, tt.args...)
		if status != tt.status || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%q: status %d, %q; want %d, %q", tt.args, status, stderr, tt.status, tt.stderr)
		}
	}
}

// A template that cannot be read does not hide what is found in others.
func TestUnreadable_OthersAreChecked(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"a.yaml": "[]", "b.yaml": otherType}))
	for _, output := range []string{"text", "json", "sarif", "github"} {
		status, stdout, _ := run(t, "a.yaml", "b.yaml", "--output", output)
		if status != 3 || !strings.Contains(stdout, "SB203") {
			t.Errorf("%s: status %d\n%s", output, status, stdout)
		}
		if output != "text" && !strings.Contains(stdout, "top level is not a mapping") {
			t.Errorf("%s does not say why a.yaml was not read\n%s", output, stdout)
		}
	}
}

// Which files an argument means.
func TestInputs(t *testing.T) {
	const stack = `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": true, "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["D", "Arn"]}, "maxReceiveCount": 5}}}, "D": {"Type": "AWS::SQS::Queue"}}}`
	const parent = `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "below.nested.template.json"}, "Properties": {}}}}`
	const manifest = `{"version": "52.0.0", "artifacts": {
		"orders": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "orders.template.json"}, "displayName": "shop/orders"},
		"parent": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "parent.template.json"}},
		"assembly-prod": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-prod"}},
		"Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}}}}`
	const stage = `{"version": "52.0.0", "artifacts": {"prod": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "prod.template.json"}}}}`
	t.Chdir(golden.Files(t, map[string]string{
		"sam/template.yaml": otherType, "sam/other.yaml": "[]",
		"yml/template.yml": otherType, "json/template.json": stack,
		"plain/a.template.json": stack, "plain/b.template.json": stack, "plain/c.json": "[]",
		"app/cdk.out/manifest.json": manifest, "app/cdk.out/orders.template.json": stack, "app/cdk.out/old.template.json": "[]",
		"app/cdk.out/parent.template.json": parent, "app/cdk.out/below.nested.template.json": stack,
		"app/cdk.out/assembly-prod/manifest.json": stage, "app/cdk.out/assembly-prod/prod.template.json": stack,
		"no/manifest.json": "{}", "gone/manifest.json": stage,
	}))
	cdk := []string{
		"app/cdk.out/assembly-prod/prod.template.json prod", "app/cdk.out/orders.template.json shop/orders",
		"app/cdk.out/below.nested.template.json parent/below",
	}
	for _, tt := range []struct {
		args []string
		want []string // files with a finding, and their stacks
	}{
		{[]string{"sam"}, []string{"sam/template.yaml"}},
		{[]string{"yml", "json"}, []string{"yml/template.yml", "json/template.json"}},
		{[]string{"sam", "sam/template.yaml", "./sam/"}, []string{"sam/template.yaml"}},
		{[]string{"plain"}, []string{"plain/a.template.json", "plain/b.template.json"}},
		{[]string{"app"}, cdk},
		{[]string{"app/cdk.out"}, cdk},
		{[]string{"no"}, nil},
		{[]string{"gone"}, nil},
	} {
		_, stdout, stderr := run(t, append(tt.args, "--output", "json", "--severity", "error")...)
		var got []string
		for _, r := range rows(t, stdout) {
			if r.Type == "finding" && r.Rule == "SB203" {
				got = append(got, strings.TrimSpace(filepath.ToSlash(r.File)+" "+r.Stack))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q (%s)", tt.args, got, tt.want, stderr)
		}
	}
}

// A parameter has the value of the command line, else of samconfig.toml, else its default.
func TestParameters(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{
		"template.yaml":  retention,
		"samconfig.toml": "[default.deploy.parameters]\nparameter_overrides = \"Count=3\"\n[prod.deploy.parameters]\nparameter_overrides = [\"Count=2\"]\n",
	}))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "maxReceiveCount of 3"},
		{[]string{"--config-env", "prod"}, "maxReceiveCount of 2"},
		{[]string{"--parameter-overrides", "Count=4"}, "maxReceiveCount of 4"},
	} {
		if _, stdout, stderr := run(t, tt.args...); !strings.Contains(stdout, tt.want) {
			t.Errorf("%q: %s%s", tt.args, stdout, stderr)
		}
	}
}

// The fingerprint of a finding stays when its lines move, and differs by resource and file.
func TestSARIF_Fingerprints(t *testing.T) {
	two := strings.ReplaceAll(otherType, "  Q:", "  P: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}\n  Q:")
	t.Chdir(golden.Files(t, map[string]string{"a.yaml": two, "b.yaml": two}))
	const fingerprint = `"primaryLocationLineHash": "(.*)"`
	first := inSARIF(t, fingerprint, "a.yaml", "b.yaml")
	if len(first) != 4 {
		t.Fatalf("%q", first)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(first))); len(distinct) != 4 {
		t.Errorf("two findings share a fingerprint: %q", first)
	}
	for _, name := range []string{"a.yaml", "b.yaml"} {
		golden.OK(t, os.WriteFile(name, []byte("# A comment.\n\n"+two), 0o644))
	}
	if moved := inSARIF(t, fingerprint, "a.yaml", "b.yaml"); !slices.Equal(moved, first) {
		t.Errorf("%q, and after lines moved %q", first, moved)
	}
}

// inSARIF runs the command with SARIF and returns what the groups of a pattern find in it.
func inSARIF(t *testing.T, pattern string, args ...string) (all []string) {
	t.Helper()
	_, stdout, _ := from(t, nil, nil, append([]string{"--output", "sarif", "--severity", "error"}, args...)...)
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(stdout, -1) {
		all = append(all, strings.Join(m[1:], " "))
	}
	return all
}

// URIs are relative to the workspace, so that GitHub finds the file from wherever the
// command ran.
func TestSARIF_URIs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(golden.Files(t, map[string]string{"a b/template.yaml": otherType}))
	golden.OK(t, err)
	t.Chdir(filepath.Join(dir, "a b"))
	for workspace, want := range map[string]string{
		"":            "template.yaml %SRCROOT%",
		dir:           "a%20b/template.yaml %SRCROOT%",
		t.TempDir():   "template.yaml %SRCROOT%", // it does not have the file
		dir + "/none": "template.yaml %SRCROOT%",
	} {
		t.Setenv("GITHUB_WORKSPACE", workspace)
		if got := inSARIF(t, `"uri": "(.*)",\s+"uriBaseId": "(.*)"`); !slices.Equal(got, []string{want}) {
			t.Errorf("with %q: %q, want %q", workspace, got, want)
		}
	}
}

// What is special in annotations is escaped, so that no template writes a command.
func TestGitHub_Escapes(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"a,b%.yaml": strings.ReplaceAll(otherType, "  Q:", "  \"Q\\n::warning::x,%\":")}))
	_, stdout, _ := run(t, "a,b%.yaml", "--output", "github", "--severity", "error")
	lines := strings.Split(stdout, "\n")
	if !strings.HasPrefix(lines[0], "::error file=a%2Cb%25.yaml,line=2,") || !strings.Contains(lines[0], "%0A::warning::x,%25") {
		t.Errorf("%q", lines[0])
	}
	if len(lines) != 3 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// No template moves the cursor.
func TestText_ShowsControlCharacters(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"t.yaml": strings.ReplaceAll(otherType, "  Q:", "  \"\\e[2J\u202eQ\":")}))
	_, stdout, _ := run(t, "t.yaml")
	if !strings.Contains(stdout, `\u001b[2J`) || strings.ContainsAny(stdout, "\x1b\u202e") {
		t.Errorf("%q", stdout)
	}
}

// A template without any queue is not just clean.
func TestNothingToCheck_IsSaid(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"t.yaml": "Resources: {B: {Type: AWS::S3::Bucket}}"}))
	if status, stdout, _ := run(t, "t.yaml"); status != 0 || !strings.Contains(stdout, "nothing to check") {
		t.Errorf("status %d: %s", status, stdout)
	}
}

// An output that cannot be written is an error.
func TestOutput_ClosedPipe(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"t.yaml": clean}))
	for _, output := range []string{"text", "json", "sarif", "github"} {
		tio := cli.IO{Args: []string{"lint", "t.yaml", "--output", output}, Stdout: show.To(closed{}), Stderr: show.To(io.Discard)}
		if status := cli.Run(t.Context(), cli.Root(tio, lint.Command(tio, ""))); status != 1 {
			t.Errorf("%s: status %d", output, status)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The help names every field of the JSON output.
func TestJSON_FieldsAreInTheHelp(t *testing.T) {
	_, help, _ := run(t, "--help")
	words := strings.FieldsFunc(help, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, name := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(docpage.Read(t, filepath.Join("testdata", "output.jsonl")), -1) {
		if !slices.Contains(words, name[1]) {
			t.Errorf("the help does not name %s", name[1])
		}
	}
}

// --fix writes what is safe and nothing else, whatever the ends of lines and the output.
// A second run has nothing left to fix.
func TestFix(t *testing.T) {
	text := strings.ReplaceAll(docpage.Read(t, filepath.Join("testdata", "shop", "template.yaml")), "\r\n", "\n")
	for _, output := range []string{"text", "json", "sarif", "github"} {
		path := filepath.Join(golden.Files(t, map[string]string{"unix.yaml": text, "windows.yaml": strings.ReplaceAll(text, "\n", "\r\n")}), "unix.yaml")
		windows := filepath.Join(filepath.Dir(path), "windows.yaml")
		status, stdout, stderr := run(t, "--fix", "--severity", "note", "--output", output, path, windows)
		if status != 1 || !strings.Contains(stdout+stderr, "set maxReceiveCount to 5") {
			t.Errorf("%s: status %d\n%s%s", output, status, stdout, stderr)
		}
		fixed := docpage.Read(t, path)
		golden.Check(t, "fixed.yaml", fixed)
		if got := docpage.Read(t, windows); got != strings.ReplaceAll(fixed, "\n", "\r\n") {
			t.Errorf("%s: with CRLF it wrote\n%q", output, got)
		}
		_, again, _ := run(t, "--fix", "--severity", "note", "--output", "json", path)
		if more := found(t, again, "fixed"); len(more) > 0 || docpage.Read(t, path) != fixed {
			t.Errorf("%s: a second run fixed %q", output, more)
		}
	}
}

// The output has what was fixed, and what is left.
func TestFix_TellsBoth(t *testing.T) {
	t.Chdir(golden.Files(t, map[string]string{"t.yaml": retention + "  U: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}\n"}))
	status, stdout, _ := run(t, "--fix", "--output", "json", "t.yaml")
	if got := found(t, stdout, "fixed"); status != 1 || !slices.Contains(got, "SB204 D") {
		t.Errorf("status %d, fixed %q", status, got)
	}
	if left := found(t, stdout, "finding"); !slices.Contains(left, "SB203 U") || slices.Contains(left, "SB204 D") {
		t.Errorf("left %q", left)
	}
}
