package rules_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// A contained is what a case adds to a pod, or to a task with its queue and its role.
type contained struct {
	Name, Env, Container, Pod, More string
	Task                            bool // in testdata/task.yaml instead of testdata/pod.yaml
	Text                            string
	Every                           bool // as with --for container
	Want                            string
}

func (c contained) text(t *testing.T) string {
	if c.Text != "" {
		return c.Text
	}
	file, more := "pod.yaml", ""
	if c.Task {
		file, more = "task.yaml", "  "
	}
	indent := func(text, space string) string {
		if text == "" {
			return ""
		}
		return space + strings.ReplaceAll(text, "\n", "\n"+space)
	}
	health := ""
	if c.Task && !strings.Contains(c.Container, "HealthCheck") {
		health = "\nHealthCheck: {Command: [CMD, /livez]}"
	}
	return strings.NewReplacer("POD", indent(c.Pod, "      "), "ENV", indent(c.Env, "            "),
		"CONTAINER", indent(strings.TrimSpace(c.Container+health), "          "), "MORE", indent(c.More, more)).Replace(read(t, file))
}

// What is wrong is found at its place, and what is not known is said.
func TestContainers_Cases(t *testing.T) {
	var cases []contained
	golden.OK(t, yaml.Unmarshal([]byte(read(t, "containers.yaml")), &cases))
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			text := c.text(t)
			result := check(t, text, template.Options{EveryContainer: c.Every})
			var lines []string
			for _, f := range result.Findings {
				line := strings.TrimSpace(strings.Split(text, "\n")[f.Pos.Line-1])
				lines = append(lines, fmt.Sprintf("%s %s %s: %.40s", f.ID, f.Severity, f.Resource, line))
			}
			for _, u := range result.Unknown {
				lines = append(lines, "? "+u.Message)
			}
			if got := strings.Join(lines, "\n"); got != c.Want {
				t.Errorf("got\n%s\nwant\n%s\nin\n%s", got, c.Want, text)
			}
		})
	}
}

// manifests are those of deploy/kubernetes as one text, as kubectl kustomize prints them.
func manifests(t *testing.T) string {
	var all []string
	files, err := filepath.Glob(filepath.Join(deploy, "kubernetes", "*.yaml"))
	golden.OK(t, err)
	for _, file := range files {
		if text := docpage.Read(t, file); !strings.Contains(text, "AWSTemplateFormatVersion") {
			all = append(all, text)
		}
	}
	return strings.Join(all, "---\n")
}

// The manifests of deploy have none of the mistakes, and everything is known. Each mistake in a
// copy is found.
func TestDeployedContainers(t *testing.T) {
	pods, ecs := manifests(t), docpage.Read(t, filepath.Join(deploy, "ecs.yaml"))
	for _, stop := range []string{"30", "60", "120"} {
		parameters := map[string]string{"StopTimeout": stop}
		for name, value := range containerParameters {
			parameters[name] = value
		}
		for name, result := range map[string][]string{"pods": said(t, pods, nil), "ecs": said(t, ecs, parameters)} {
			if len(result) > 0 {
				t.Errorf("%s, %s: %q", name, stop, result)
			}
		}
	}
	for _, c := range []struct {
		text, old, new string
		want           string
	}{
		{pods, "value: 24s}\n            - {name: SQSBATCH_HEALTH", "value: 24}\n            - {name: SQSBATCH_HEALTH", "SB401"},
		{pods, "SQSBATCH_CONCURRENCY, value", "SQSBATCH_CONCURENCY, value", "SB402"},
		{pods, "SQSBATCH_MAX_RECEIVE_COUNT, value", "SQSBATCH_ERROR_IF_ALL_FAIL, value: \"true\"}\n            - {name: SQSBATCH_MAX_RECEIVE_COUNT, value", "SB403"},
		{pods, "value: 24s}\n            - {name: SQSBATCH_HEALTH", "value: 25500ms}\n            - {name: SQSBATCH_HEALTH", "SB404"},
		{pods, "terminationGracePeriodSeconds: 30\n      securityContext: # Pod", "terminationGracePeriodSeconds: 20\n      securityContext: # Pod", "SB404"},
		{pods, "livenessProbe:", "startupProbe:", "SB407"},
		{pods, "containerPort: 8080", "containerPort: 8081", "SB408 SB408"},
		{pods, `value: ":8080"`, `value: "localhost:8080"`, "SB409"},
		{pods, "path: /livez", "path: /readyz", "SB410"},
		{pods, `CONCURRENCY, value: "10"`, `CONCURRENCY, value: "100"`, "SB411"},
		{pods, "type: aws-sqs-queue", "type: cpu", "SB413"},
		{pods, `scaleOnInFlight: "false"`, `scaleOnInFlight: "true"`, "SB414"},
		{pods, "minReplicaCount: 1", "minReplicaCount: 0", "SB415"},
		{pods, "minReadySeconds: 10", "replicas: 2", "SB418"},
		{pods, "- {name: SQSBATCH_UNTIL_EMPTY, value: \"true\"}", "", "SB412"},
		{ecs, "LaunchType: FARGATE", "DesiredCount: 2", "SB418"},
		{ecs, "{Of: 24s}", "{Of: 26s}", "SB404"},
		{ecs, "StopTimeout: !Ref StopTimeout", "StopTimeout: 180", "SB405"},
		{ecs, "Essential: true", "Essential: false", "SB406"},
		{ecs, "HealthCheck:\n", "Labels:\n", "SB407"},
		{ecs, "Command: [CMD, /livez]", `Command: [CMD, /livez, ":9090"]`, "SB408"},
		{ecs, "Default: 512", "Default: 64", "SB411"},
		{ecs, "MinCapacity: !Ref MinTasks", "MinCapacity: 0", "SB416"},
		{ecs, "{Enable: true, Rollback: true}", "{Enable: false, Rollback: false}", "SB417"},
		{ecs, "sqs:DeleteMessage, ", "", "SB301"},
	} {
		if !strings.Contains(c.text, c.old) {
			t.Errorf("%s: there is no %q", c.want, c.old)
			continue
		}
		parameters := containerParameters
		if !strings.HasPrefix(c.text, "AWSTemplate") {
			parameters = nil
		}
		if got := strings.Join(said(t, strings.Replace(c.text, c.old, c.new, 1), parameters), " "); got != c.want {
			t.Errorf("%q instead of %q: %s, want %s", c.new, c.old, got, c.want)
		}
	}
}

// said lists the rules of findings, and what is not known.
func said(t *testing.T, text string, parameters map[string]string) (list []string) {
	result := check(t, text, template.Options{Parameters: parameters})
	for _, f := range result.Findings {
		list = append(list, f.ID)
	}
	for _, u := range result.Unknown {
		list = append(list, u.Message)
	}
	return list
}

// The fix of a stop that is too short is one that is long enough, in each form of the input. A
// container without a StopTimeout gets none: it has no name to add one below.
func TestKilledEarly_HasAFix(t *testing.T) {
	limit := "- {name: SQSBATCH_DRAIN_LIMIT, value: 50s}"
	for _, c := range []contained{
		{Env: limit}, {Env: limit, Pod: "terminationGracePeriodSeconds: 30"}, {Env: limit, Container: "lifecycle: {preStop: {sleep: {seconds: 5}}}"},
		{Env: strings.NewReplacer("name", "Name", "value", "Value").Replace(limit), Container: "StopTimeout: 30", Task: true},
		{Text: `{"family": "orders", "containerDefinitions": [{"name": "c", "stopTimeout": 30, "environment": [{"name": "SQSBATCH_DRAIN_LIMIT", "value": "50s"}]}]}`},
	} {
		text := c.text(t)
		f := find(t, text, "SB404")
		if f.Fix == nil {
			t.Errorf("%s has no fix", f)
			continue
		}
		fixed, err := f.Fix.Apply([]byte(text))
		golden.OK(t, err)
		if left := said(t, string(fixed), nil); slices.Contains(left, "SB404") {
			t.Errorf("after %q: %q", f.Fix.Says, left)
		}
	}
}
