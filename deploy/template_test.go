package deploy_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// load reads a file's first document as plain values: !Ref X is {"Ref": X}.
func load(t *testing.T, path string) map[string]any {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(docpage.Read(t, path)), &root); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	template, ok := plain(root.Content[0]).(map[string]any)
	if !ok {
		t.Fatalf("%s is no template", path)
	}
	return template
}

func plain(n *yaml.Node) any {
	var v any
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		v = m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, plain(item))
		}
		v = list
	default:
		v = n.Value
	}
	if tag := n.Tag; strings.HasPrefix(tag, "!") && !strings.HasPrefix(tag, "!!") {
		return map[string]any{strings.TrimPrefix(tag, "!"): v}
	}
	return v
}

// at goes down a path of names and indices.
func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for i, name := range path {
		var next any
		switch v := v.(type) {
		case map[string]any:
			next = v[name]
		case []any:
			if n, err := strconv.Atoi(name); err == nil && n < len(v) {
				next = v[n]
			}
		}
		if next == nil {
			t.Fatalf("there is no %s", strings.Join(path[:i+1], "."))
		}
		v = next
	}
	return v
}

// The trust policy is text in which CloudFormation puts parameters.
func TestTrustPolicyIsJSON(t *testing.T) {
	document := at(t, load(t, "kubernetes/role.yaml"), "Resources", "Role", "Properties", "AssumeRolePolicyDocument", "Sub").(string)
	text := strings.ReplaceAll(document, "${OidcProvider}", "oidc.eks.eu-west-1.amazonaws.com/id/A1")
	var policy struct {
		Statement []struct{ Effect, Action string }
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Errorf("%v in %s", err, text)
	} else if len(policy.Statement) != 1 {
		t.Errorf("%d statements, want one", len(policy.Statement))
	}
}

// A service may assume a role only for this account, and KEDA one that only reads attributes.
func TestTrustPoliciesNameAccountAndSource(t *testing.T) {
	services := 0
	for _, file := range []string{"../template.yaml", "ecs.yaml", "kubernetes/role.yaml"} {
		for name, r := range at(t, load(t, file), "Resources").(map[string]any) {
			if r.(map[string]any)["Type"] != "AWS::IAM::Role" {
				continue
			}
			trust, ok := at(t, r, "Properties", "AssumeRolePolicyDocument").(map[string]any)
			if !ok || trust["Statement"] == nil {
				continue // text, see TestTrustPolicyIsJSON
			}
			for _, s := range trust["Statement"].([]any) {
				if _, service := at(t, s, "Principal").(map[string]any)["Service"]; !service {
					continue
				}
				services++
				if at(t, s, "Condition", "StringEquals", "aws:SourceAccount", "Ref") != "AWS::AccountId" {
					t.Errorf("%s: the trust policy of %s does not name the account", file, name)
				}
				if source := at(t, s, "Condition", "ArnLike", "aws:SourceArn", "Sub").(string); !strings.Contains(source, "${AWS::AccountId}") {
					t.Errorf("%s: the trust policy of %s takes %s", file, name, source)
				}
			}
		}
	}
	if services != 3 {
		t.Errorf("%d roles of services, want 3", services)
	}
	keda := at(t, load(t, "kubernetes/role.yaml"), "Resources", "KedaRole", "Properties", "Policies", "0", "PolicyDocument", "Statement").([]any)
	if len(keda) != 1 || at(t, keda[0], "Action") != "sqs:GetQueueAttributes" {
		t.Errorf("KEDA may %v", keda)
	}
}

func container(t *testing.T, template map[string]any) map[string]any {
	t.Helper()
	containers := at(t, template, "Resources", "TaskDefinition", "Properties", "ContainerDefinitions").([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	return containers[0].(map[string]any)
}

func TestServiceDrainsBeforeItIsKilled(t *testing.T) {
	template := load(t, "ecs.yaml")
	c := container(t, template)
	if ref := at(t, c, "StopTimeout", "Ref"); ref != "StopTimeout" {
		t.Errorf("StopTimeout is %v", ref)
	}
	choices := at(t, template, "Parameters", "StopTimeout", "AllowedValues").([]any)
	table := at(t, template, "Mappings", "DrainLimit").(map[string]any)
	if len(choices) != len(table) {
		t.Errorf("%d stop timeouts, %d drain limits", len(choices), len(table))
	}
	for _, choice := range choices {
		seconds, err := strconv.Atoi(choice.(string))
		if err != nil || seconds > 120 {
			t.Errorf("StopTimeout %v: Fargate takes up to 120", choice)
		}
		checkStop(t, "ecs, StopTimeout "+choice.(string), at(t, table, choice.(string), "Of").(string), time.Duration(seconds)*time.Second)
	}
	value := at(t, environment(t, c)["SQSBATCH_DRAIN_LIMIT"], "FindInMap").([]any)
	if at(t, value, "0") != "DrainLimit" || at(t, value, "1", "Ref") != "StopTimeout" {
		t.Errorf("SQSBATCH_DRAIN_LIMIT is %v", value)
	}
	def := at(t, template, "Parameters", "StopTimeout", "Default").(string) + "s"
	if d, err := time.ParseDuration(def); err != nil || d < stopTakes(t, 0) {
		t.Errorf("StopTimeout is %s by default", def)
	}
}

func environment(t *testing.T, container map[string]any) map[string]any {
	t.Helper()
	values := map[string]any{}
	for _, v := range at(t, container, "Environment").([]any) {
		values[at(t, v, "Name").(string)] = at(t, v, "Value")
	}
	return values
}

func TestServiceSetsWhatIsRead(t *testing.T) {
	c := container(t, load(t, "ecs.yaml"))
	values := environment(t, c)
	checkVariables(t, "ecs", slices.Collect(maps.Keys(values)))
	if addr, _ := values["SQSBATCH_HEALTH_ADDR"].(string); !strings.HasPrefix(addr, "127.0.0.1:") {
		t.Errorf("health is served at %s: only the container itself asks for it", addr)
	}
	if c["User"] != user+":"+user || c["ReadonlyRootFilesystem"] != "true" {
		t.Errorf("user %v, read-only %v", c["User"], c["ReadonlyRootFilesystem"])
	}
}

// Without a shell in the image the check must be a file that the image has.
func TestServiceHealthCheckIsInTheImage(t *testing.T) {
	command := at(t, container(t, load(t, "ecs.yaml")), "HealthCheck", "Command").([]any)
	if len(command) != 2 || command[0] != "CMD" || !strings.Contains(docpage.Read(t, "../Dockerfile"), "-o /out"+command[1].(string)+" ") {
		t.Errorf("the health check is %v", command)
	}
}

// A record that keeps failing sets off no alarm on age by itself (SB501), and each
// file has the same threshold.
func TestAlarmsOnAgeFollowTheOutage(t *testing.T) {
	const want = "1800"
	const outage = settle.DefaultOutage
	if d, err := settings.Outage.Read(settings.Outage.Default); err != nil || d != outage {
		t.Errorf("the outage is %v by default, in the settings %v", outage, d)
	}
	for _, file := range []string{"../template.yaml", "queue.yaml"} {
		template := load(t, file)
		if got := at(t, template, "Parameters", "OldestMessageSeconds", "Default"); got != want {
			t.Errorf("%s: OldestMessageSeconds is %v, want %s", file, got, want)
		}
		if got := at(t, template, "Parameters", "MaxReceiveCount", "Default"); got != "5" {
			t.Errorf("%s: MaxReceiveCount is %v, and its comment is about 5", file, got)
		}
		if alarm := at(t, template, "Resources", "OldestMessageAlarm", "Properties"); at(t, alarm, "Threshold", "Ref") != "OldestMessageSeconds" {
			t.Errorf("%s: the alarm's threshold is %v", file, at(t, alarm, "Threshold"))
		}
	}
	_, alert, _ := strings.Cut(docpage.Read(t, "prometheus.yaml"), "- alert: SqsbatchOldMessages")
	if alert, _, _ = strings.Cut(alert, "- alert:"); !strings.Contains(alert, ") > "+want+"\n") {
		t.Errorf("the alert has another threshold than %s:%s", want, alert)
	}
}
