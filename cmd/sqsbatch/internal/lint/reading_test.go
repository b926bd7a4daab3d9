package lint_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// from runs `sqsbatch lint` with a standard input.
func from(t *testing.T, stdin io.Reader, interrupts <-chan os.Signal, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	tio := cli.IO{Args: append([]string{"lint"}, args...), Stdin: stdin, Stdout: show.To(&out), Stderr: show.To(&errs), Interrupts: interrupts}
	status = cli.Run(t.Context(), cli.Root(tio, lint.Command(tio, "v1.2.3")))
	return status, out.String(), errs.String()
}

func TestStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := from(t, strings.NewReader(otherType), nil, "-")
	if status != 1 || !strings.HasPrefix(stdout, "-:2:") || !strings.Contains(stdout, "SB203") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	status, _, stderr = from(t, strings.NewReader(otherType), nil, "--fix", "-")
	if status != 2 || !strings.Contains(stderr, "--fix cannot write to standard input (-); name the template's file") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// An interrupt ends the command while it waits for text that does not come.
func TestInterrupt_EndsARead(t *testing.T) {
	silent, writer := io.Pipe()
	interrupts := make(chan os.Signal, 1)
	interrupts <- syscall.SIGTERM
	status, stdout, stderr := from(t, silent, interrupts, "-")
	if status != 130 || stdout != "" || stderr != "sqsbatch lint: interrupted\n" {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	golden.OK(t, writer.Close())
}

// A manifest of the CDK names files of its own directory only.
func TestAssembly_NamesFilesOutside(t *testing.T) {
	const manifest = `{"artifacts": {"a": {"type": "TYPE", "properties": {"templateFile": "FILE", "directoryName": "FILE"}}}}`
	const parent = `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "../secret.yaml"}}}}`
	named := func(kind, file string) string {
		return strings.NewReplacer("TYPE", kind, "FILE", file).Replace(manifest)
	}
	dir := golden.Files(t, map[string]string{
		"secret.yaml": otherType, "other/manifest.json": named("aws:cloudformation:stack", "t.json"), "other/t.json": otherType,
		"above/manifest.json": named("aws:cloudformation:stack", "../secret.yaml"),
		"stage/manifest.json": named("cdk:cloud-assembly", "../other"),
		"below/manifest.json": named("aws:cloudformation:stack", "parent.json"), "below/parent.json": parent,
		"link/manifest.json": named("aws:cloudformation:stack", "link.json"),
	})
	golden.OK(t, os.WriteFile(filepath.Join(dir, "root.json"), []byte(named("aws:cloudformation:stack", filepath.ToSlash(filepath.Join(dir, "secret.yaml")))), 0o600))
	golden.OK(t, os.Mkdir(filepath.Join(dir, "absolute"), 0o700))
	golden.OK(t, os.Rename(filepath.Join(dir, "root.json"), filepath.Join(dir, "absolute", "manifest.json")))
	assemblies := []string{"above", "stage", "below", "absolute"}
	if runtime.GOOS != "windows" { // which has no links for everyone
		golden.OK(t, os.Symlink(filepath.Join("..", "secret.yaml"), filepath.Join(dir, "link", "link.json")))
		assemblies = append(assemblies, "link")
	}
	t.Chdir(dir)
	for _, assembly := range assemblies {
		status, stdout, stderr := run(t, assembly)
		if status != 3 || stdout != "" || !strings.Contains(stderr, "which is outside of "+assembly) {
			t.Errorf("%s: status %d\n%s%s", assembly, status, stdout, stderr)
		}
	}
}

// The CDK's output is recognized by what it is, so that --fix leaves it alone.
func TestFix_LeavesTheCDKsOutputAlone(t *testing.T) {
	const fixable = `Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}}}
  D: {Type: AWS::SQS::Queue, METADATA Properties: {MessageRetentionPeriod: 1209600}}
`
	plain := strings.Replace(fixable, "METADATA ", "", 1)
	t.Chdir(golden.Files(t, map[string]string{
		"path.yaml":             strings.Replace(fixable, "METADATA", "Metadata: {'aws:cdk:path': shop/D},", 1),
		"metadata.yaml":         plain + "  CDKMetadata: {Type: AWS::CDK::Metadata}\n",
		"version.yaml":          "Parameters: {BootstrapVersion: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /cdk-bootstrap/hnb659fds/version}}\n" + plain,
		"out/shop.json":         plain,
		"out/manifest.json":     `{"artifacts": {"shop": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "shop.json"}}}}`,
		"website/manifest.json": `{"name": "shop"}`,
		"website/shop.yaml":     plain,
	}))
	for path, fixes := range map[string]bool{"path.yaml": false, "metadata.yaml": false, "version.yaml": false, "out/shop.json": false, "website/shop.yaml": true} {
		before := docpage.Read(t, path)
		_, stdout, stderr := run(t, "--fix", path)
		changed := docpage.Read(t, path) != before
		said := strings.Contains(stdout, "not fixed: a tool wrote this file and will write it anew; change its source")
		if said == fixes || changed != fixes {
			t.Errorf("%s: changed: %v\n%s%s", path, changed, stdout, stderr)
		}
	}
}

// shops is a template with so many functions, each with a queue and its dead-letter queue, in
// which each has findings. Lines end with the given text.
func shops(n int, end string) string {
	var out strings.Builder
	out.WriteString(`{"Resources": {` + end)
	for i := range n {
		fmt.Fprintf(&out, `"D%d": {"Type": "AWS::SQS::Queue"},`+end, i)
		fmt.Fprintf(&out, `"Q%d": {"Type": "AWS::SQS::Queue", "Properties": {`+end+`"RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["D%[1]d", "Arn"]}, "maxReceiveCount": 2}}},`+end, i)
		fmt.Fprintf(&out, `"F%d": {"Type": "AWS::Serverless::Function", "Properties": {"Timeout": 30, "Events": {`+end+`"E": {"Type": "SQS", "Properties": {"Queue": {"Fn::GetAtt": ["Q%[1]d", "Arn"]}}}}}},`+end, i)
	}
	out.WriteString(`"T": {"Type": "AWS::SNS::Topic"}}}`)
	return out.String()
}

// The work grows with the number of resources, not with its square, on many lines and on one.
func TestWork_IsLinear(t *testing.T) {
	for name, end := range map[string]string{"lines": "\n", "one line": ""} {
		allocated := func(n int) (sum uint64) {
			text := shops(n, end)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, stdout, stderr := from(t, strings.NewReader(text), nil, "-")
			runtime.ReadMemStats(&after)
			if status != 1 || strings.Count(stdout, "SB202") < n {
				t.Fatalf("status %d, %d findings\n%s", status, strings.Count(stdout, "SB202"), stderr)
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		if few, many := allocated(40), allocated(320); many > 12*few { // 8 times as many resources
			t.Errorf("%s: %d bytes for 40, %d for 320", name, few, many)
		}
	}
}

// Resources that were not checked because a parameter has no value are named in the output.
func TestParameterWithoutAValue(t *testing.T) {
	const text = `Parameters: {Stage: {Type: String}}
Conditions: {Prod: !Equals [!Ref Stage, prod]}
Resources:
  Q: {Type: AWS::SQS::Queue, Condition: Prod, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
`
	const said = "-: not checked, since parameter Stage has no value: Q. Give it one: --parameter-overrides Stage=VALUE\n"
	status, stdout, stderr := from(t, strings.NewReader(text), nil, "-")
	if status != 0 || !strings.HasPrefix(stdout, said) {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	status, stdout, stderr = from(t, strings.NewReader(text), nil, "-", "--parameter-overrides", "Stage=prod")
	if status != 1 || strings.Contains(stdout, "not checked") || !strings.Contains(stdout, "SB203") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}
