package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// The step of action.yml that checks, run as a runner does: a finding is an annotation, in SARIF
// and in the status, unless a baseline has it.
func TestAction_AnnotatesNewFindings(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("runners have bash, this machine has not")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	golden.OK(t, err)
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Name, Run string
				Env       map[string]string
			}
		}
	}
	golden.OK(t, yaml.Unmarshal(data, &action))
	var script string
	inputs := map[string]string{} // by variable
	for _, step := range action.Runs.Steps {
		if step.Name == "lint" {
			script = step.Run
			for variable, value := range step.Env {
				input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
				if _, ok := action.Inputs[input]; !ok {
					t.Errorf("%s is %s, which is no input", variable, value)
				}
				inputs[variable] = action.Inputs[input].Default
			}
		}
	}
	self, err := os.Executable()
	golden.OK(t, err)
	temporary, workspace := t.TempDir(), t.TempDir()
	golden.OK(t, os.Symlink(self, filepath.Join(temporary, "sqsbatch")))
	golden.OK(t, os.WriteFile(filepath.Join(workspace, "template.yaml"), []byte("Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {SqsManagedSseEnabled: false, ReceiveMessageWaitTimeSeconds: 20}}\n"), 0o600))
	step := func(with ...string) (status int, output, sarif string) {
		cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		cmd.Dir = workspace
		cmd.Env = append(os.Environ(), asCommand+"=1", "RUNNER_TEMP="+temporary, "GITHUB_WORKSPACE="+workspace, "GITHUB_OUTPUT="+filepath.Join(temporary, "output"))
		for variable, value := range inputs {
			cmd.Env = append(cmd.Env, variable+"="+value)
		}
		cmd.Env = append(cmd.Env, with...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // the status says it
		text, err := os.ReadFile(filepath.Join(temporary, "sqsbatch.sarif"))
		golden.OK(t, err)
		return cmd.ProcessState.ExitCode(), out.String(), string(text)
	}
	status, output, sarif := step()
	if status != 1 || !strings.Contains(output, "::warning file=template.yaml,line=2,") || !strings.Contains(sarif, `"ruleId": "SB214"`) {
		t.Errorf("status %d\n%s", status, output)
	}
	cmd := exec.Command(self, "lint", "--output", "baseline")
	cmd.Dir, cmd.Env = workspace, append(os.Environ(), asCommand+"=1", "GITHUB_WORKSPACE="+workspace)
	known, err := cmd.Output()
	golden.OK(t, err)
	golden.OK(t, os.WriteFile(filepath.Join(workspace, "known"), known, 0o600))
	if status, output, sarif = step("BASELINE=known", "PATHS=template.yaml\n"); status != 0 || strings.Contains(sarif, `"ruleId": "SB214"`) {
		t.Errorf("status %d\n%s", status, output)
	}
}
