package deploy_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// load reads a file's first document as plain values: !Ref X is {"Ref": X}.
func load(t *testing.T, path string) map[string]any {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text(t, path)), &root); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	template, ok := plain(root.Content[0]).(map[string]any)
	if !ok {
		t.Fatalf("%s is no template", path)
	}
	return template
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
	document := at(t, load(t, "kubernetes/role.yaml"), "Resources", "Role", "Properties", "AssumeRolePolicyDocument", "Sub")
	keda := at(t, document, "1", "Keda", "If", "1", "Sub").(string)
	for with, want := range map[string]int{keda: 2, "": 1} {
		text := strings.NewReplacer("${Keda}", with, "${OidcProvider}", "oidc.eks.eu-west-1.amazonaws.com/id/A1").Replace(at(t, document, "0").(string))
		var policy struct {
			Statement []struct{ Effect, Action string }
		}
		if err := json.Unmarshal([]byte(text), &policy); err != nil {
			t.Errorf("%v in %s", err, text)
		} else if len(policy.Statement) != want {
			t.Errorf("%d statements, want %d", len(policy.Statement), want)
		}
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
	template := load(t, "ecs/service.yaml")
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
	c := container(t, load(t, "ecs/service.yaml"))
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
	command := at(t, container(t, load(t, "ecs/service.yaml")), "HealthCheck", "Command").([]any)
	if len(command) != 2 || command[0] != "CMD" || !strings.Contains(dockerfile(t), "-o /out"+command[1].(string)+" ") {
		t.Errorf("the health check is %v", command)
	}
}

// choices are parameters that template.yaml's Rules let pass: every timeout, window
// and kind of queue, and what each environment of samconfig.toml sets.
func choices(t *testing.T) (all []map[string]string) {
	t.Helper()
	for _, fifo := range []string{"true", "false"} {
		for _, timeout := range []string{"3", "10", "30", "60", "300", "900"} {
			for _, window := range []string{"0", "1", "5", "20", "60", "300"} {
				size := "10000"
				if fifo == "true" || window == "0" {
					size = "10"
				}
				all = append(all, map[string]string{"Fifo": fifo, "FunctionTimeout": timeout, "BatchWindow": window, "BatchSize": size})
			}
		}
	}
	overrides := regexp.MustCompile(`(?m)^parameter_overrides = "(.+)"$`).FindAllStringSubmatch(text(t, "../samconfig.toml"), -1)
	if len(overrides) < 2 {
		t.Fatalf("samconfig.toml sets parameters in %d environments", len(overrides))
	}
	for _, line := range overrides {
		set := map[string]string{}
		for _, pair := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
		all = append(all, set)
	}
	return all
}

func parse(t *testing.T, file string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse([]byte(text(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// Whatever is chosen, Lambda takes the mapping, and the visibility timeout is AWS's
// advice ("Creating and configuring an Amazon SQS event source mapping").
func TestMappingsAreSound(t *testing.T) {
	tmpl := parse(t, "../template.yaml")
	for _, parameters := range choices(t) {
		d, err := tmpl.Resolve(template.Options{Parameters: parameters})
		if err != nil || len(d.Findings) > 0 {
			t.Fatalf("with %v: %v, %v", parameters, d, err)
		}
		f, e := d.Function, d.Event
		mapping := lambda.Mapping{Function: &lambda.Deployment{}, SQS: sqs.New(sqs.Options{}), QueueURL: d.Source.URL, QueueARN: d.Source.ARN,
			BatchSize: e.BatchSize, Window: e.Window, MaximumConcurrency: e.MaximumConcurrency}
		if err := mapping.Validate(); err != nil {
			t.Errorf("with %v: %v", parameters, err)
		}
		got, want := d.Source.Visibility(), 6*f.Timeout+e.Window
		if got < want || got > want && !d.Source.FIFO { // the window has no effect on a FIFO queue, but counts in the table
			t.Errorf("with %v: the visibility timeout is %v, want %v", parameters, got, want)
		}
		if !e.ReportBatchItemFailures || len(e.Filters) > 0 || f.ReservedConcurrency != nil && e.MaximumConcurrency > *f.ReservedConcurrency {
			t.Errorf("with %v: the event is %+v", parameters, e)
		}
	}
}

// A queue has a dead-letter queue of its kind, which takes its messages, after five
// receives at least, and keeps them longer: a dead letter's age counts from when it
// was first sent ("Using dead-letter queues in Amazon SQS").
func TestQueuesHaveDeadLetterQueues(t *testing.T) {
	for _, file := range []string{"../template.yaml", "queue.yaml"} {
		for _, fifo := range []string{"false", "true"} {
			st, err := parse(t, file).Stack(template.Options{Parameters: map[string]string{"Fifo": fifo}})
			if err != nil {
				t.Fatal(err)
			}
			queues, left, err := st.Queues()
			if err != nil || len(left) > 0 || len(queues) != 2 {
				t.Fatalf("%s: queues %v, %v, %v", file, queues, left, err)
			}
			dead, q := queues[0], queues[1]
			allow := dead.Attributes["RedriveAllowPolicy"]
			if q.DeadLetterARN != dead.ARN || q.MaxReceiveCount < 5 || q.FIFO != (fifo == "true") || dead.FIFO != q.FIFO ||
				!strings.Contains(allow, "byQueue") || !strings.Contains(allow, `"`+q.ARN+`"`) {
				t.Errorf("%s, Fifo %s: %+v\nand %+v", file, fifo, q, dead)
			}
			kept, _ := strconv.Atoi(q.Attributes["MessageRetentionPeriod"])
			if longer, _ := strconv.Atoi(dead.Attributes["MessageRetentionPeriod"]); longer <= max(kept, 345600) {
				t.Errorf("%s: dead letters are kept for %d s, messages for %d", file, longer, kept)
			}
		}
	}
}

// A record that keeps failing sets off no alarm on age: it is retried for up to
// half more than the outage that it outlives, and SQS reports its age once a minute
// ("Available CloudWatch metrics for Amazon SQS").
func TestAlarmsOnAgeFollowTheOutage(t *testing.T) {
	const want = "1800"
	outage := partialfailure.Config{}.WithDefaults().Outage
	if threshold, err := time.ParseDuration(want + "s"); err != nil || threshold <= outage*3/2+time.Minute {
		t.Errorf("the alarm goes off after %v, the outage is %v", threshold, outage)
	}
	if d, err := settings.Outage.Time(settings.Outage.Default); err != nil || d != outage {
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
	rules, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, alert, _ := strings.Cut(string(rules), "- alert: SqsbatchOldMessages")
	if alert, _, _ = strings.Cut(alert, "- alert:"); !strings.Contains(alert, ") > "+want+"\n") {
		t.Errorf("the alert has another threshold than %s:%s", want, alert)
	}
}
