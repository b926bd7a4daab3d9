package terraform_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/terraform"
)

// findings returns "SB106 ADDRESS.ATTRIBUTE" of each finding in a plan, and the same of each place
// that was not checked, without a rule.
func findings(t *testing.T, data []byte) (found, unknown []string) {
	t.Helper()
	source, err := terraform.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	st, err := source.Template.Stack(source.Options)
	if err != nil {
		t.Fatal(err)
	}
	result, err := rules.Check(st)
	if err != nil {
		t.Fatal(err)
	}
	at := func(pos template.Pos) string {
		p := source.Place(pos)
		return strings.TrimSuffix(p.Address+"."+p.Attribute, ".")
	}
	for _, f := range result.Findings {
		found = append(found, f.ID+" "+at(f.Pos))
	}
	for _, u := range result.Unknown {
		unknown = append(unknown, at(u.Pos)+": "+source.Text(u.Message))
	}
	return found, unknown
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The first plan of a queue from a module, of a function that is not created yet: what they refer
// to is in the configuration only.
func TestPlan_FollowsReferencesThroughModules(t *testing.T) {
	data, err := os.ReadFile("testdata/module.json")
	if err != nil {
		t.Fatal(err)
	}
	found, unknown := findings(t, data)
	want(t, found,
		"SB101 aws_lambda_event_source_mapping.orders",
		"SB102 aws_lambda_event_source_mapping.orders.batch_size",
		"SB302 aws_iam_role.orders",
		"SB303 aws_iam_role.orders",
		"SB204 module.orders.aws_sqs_queue.dlq[0].message_retention_seconds",
		"SB106 module.orders.aws_sqs_queue.this[0].visibility_timeout_seconds",
		"SB202 module.orders.aws_sqs_queue_redrive_policy.dlq[0].redrive_policy")
	want(t, unknown)
}

type m = map[string]any

// A stack is the values of resources by their addresses.
type stack map[string]m

const account = ":eu-west-1:123456789012:"

// orders is a state without findings: a queue with a dead-letter queue, and a function.
func orders() stack {
	return stack{
		"aws_sqs_queue.orders": {"name": "orders", "arn": "arn:aws:sqs" + account + "orders", "id": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
			"visibility_timeout_seconds": 180, "message_retention_seconds": 345600, "receive_wait_time_seconds": 20, "sqs_managed_sse_enabled": true,
			"redrive_policy": `{"deadLetterTargetArn":"arn:aws:sqs` + account + `orders-dlq","maxReceiveCount":5}`, "policy": "", "kms_master_key_id": "", "redrive_allow_policy": ""},
		"aws_sqs_queue.dlq": {"name": "orders-dlq", "arn": "arn:aws:sqs" + account + "orders-dlq", "message_retention_seconds": 1209600, "receive_wait_time_seconds": 0,
			"redrive_allow_policy": `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs` + account + `orders"]}`},
		"aws_lambda_function.orders": {"function_name": "orders", "arn": "arn:aws:lambda" + account + "function:orders", "timeout": 30, "memory_size": 256, "runtime": "provided.al2023",
			"role": "arn:aws:iam::123456789012:role/orders", "reserved_concurrent_executions": -1, "environment": []any{m{"variables": m{"SQSBATCH_MAX_RECEIVE_COUNT": "5"}}}},
		"aws_lambda_event_source_mapping.orders": {"event_source_arn": "arn:aws:sqs" + account + "orders", "function_name": "arn:aws:lambda" + account + "function:orders",
			"batch_size": 10, "function_response_types": []any{"ReportBatchItemFailures"}, "scaling_config": []any{}, "filter_criteria": []any{}},
		"aws_iam_role.orders": {"name": "orders", "arn": "arn:aws:iam::123456789012:role/orders"},
		"aws_iam_role_policy.orders": {"role": "orders", "policy": `{"Statement":[
			{"Effect":"Allow","Action":["sqs:ReceiveMessage","sqs:DeleteMessage","sqs:GetQueueAttributes","sqs:ChangeMessageVisibility"],"Resource":"arn:aws:sqs` + account + `orders"},
			{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"arn:aws:sqs` + account + `orders-dlq"}]}`},
		"aws_iam_role_policy_attachment.logs": {"role": "orders", "policy_arn": "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"},
	}
}

// state is the JSON of a state with the resources.
func (s stack) state() []byte {
	var list []m
	for _, address := range slices.Sorted(maps.Keys(s)) {
		kind, name, _ := strings.Cut(address, ".")
		name, _, _ = strings.Cut(name, "[")
		list = append(list, m{"address": address, "mode": "managed", "type": kind, "name": name, "values": s[address]})
	}
	data, err := json.Marshal(m{"format_version": "1.0", "terraform_version": "1.13.4", "values": m{"root_module": m{"resources": list}}})
	if err != nil {
		panic(err)
	}
	return data
}

// Each rule finds in a state what it finds in a template.
func TestState_WrongSettingsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		address string
		change  m
		want    []string
	}{
		"none":                 {"aws_sqs_queue.orders", m{}, nil},
		"no partial batch":     {"aws_lambda_event_source_mapping.orders", m{"function_response_types": []any{}}, []string{"SB101 aws_lambda_event_source_mapping.orders"}},
		"no window":            {"aws_lambda_event_source_mapping.orders", m{"batch_size": 100}, []string{"SB102 aws_lambda_event_source_mapping.orders.batch_size"}},
		"short visibility":     {"aws_sqs_queue.orders", m{"visibility_timeout_seconds": 60}, []string{"SB106 aws_sqs_queue.orders.visibility_timeout_seconds"}},
		"shorter than timeout": {"aws_sqs_queue.orders", m{"visibility_timeout_seconds": 20}, []string{"SB105 aws_sqs_queue.orders.visibility_timeout_seconds"}},
		"no dead letters":      {"aws_sqs_queue.orders", m{"redrive_policy": ""}, []string{"SB201 aws_sqs_queue.orders"}},
		"one attempt": {"aws_sqs_queue.orders", m{"redrive_policy": `{"deadLetterTargetArn":"arn:aws:sqs` + account + `orders-dlq","maxReceiveCount":1}`},
			[]string{"SB119 aws_lambda_function.orders.environment", "SB202 aws_sqs_queue.orders.redrive_policy"}},
		"short retention":    {"aws_sqs_queue.dlq", m{"message_retention_seconds": 345600}, []string{"SB204 aws_sqs_queue.dlq.message_retention_seconds"}},
		"denied":             {"aws_sqs_queue.dlq", m{"redrive_allow_policy": `{"redrivePermission":"denyAll"}`}, []string{"SB205 aws_sqs_queue.dlq.redrive_allow_policy"}},
		"no encryption":      {"aws_sqs_queue.orders", m{"sqs_managed_sse_enabled": false}, []string{"SB214 aws_sqs_queue.orders.sqs_managed_sse_enabled"}},
		"concurrency":        {"aws_lambda_event_source_mapping.orders", m{"scaling_config": []any{m{"maximum_concurrency": 20}}}, nil},
		"reserved":           {"aws_lambda_function.orders", m{"reserved_concurrent_executions": 3}, nil},
		"all of SQS":         {"aws_iam_role_policy.orders", m{"policy": `{"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"*"}}`}, []string{"SB305 aws_iam_role_policy.orders.policy"}},
		"open to all":        {"aws_sqs_queue.orders", m{"policy": `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}`}, []string{"SB213 aws_sqs_queue.orders", "SB212 aws_sqs_queue.orders.policy"}},
		"no backoff":         {"aws_iam_role_policy.orders", m{"policy": `{"Statement":{"Effect":"Allow","Action":["sqs:ReceiveMessage","sqs:DeleteMessage","sqs:GetQueueAttributes"],"Resource":"arn:aws:sqs` + account + `orders"}}`}, []string{"SB302 aws_iam_role.orders", "SB303 aws_iam_role.orders"}},
		"tenants":            {"aws_lambda_function.orders", m{"tenancy_config": []any{m{"tenant_isolation_mode": "PER_TENANT"}}}, []string{"SB112 aws_lambda_function.orders.tenancy_config"}},
		"never started":      {"aws_lambda_function.orders", m{"environment": []any{m{"variables": m{"SQSBATCH_MIN_REMAINING": "40s"}}}}, []string{"SB114 aws_lambda_function.orders.environment"}},
		"function's own DLQ": {"aws_lambda_function.orders", m{"dead_letter_config": []any{m{"target_arn": "arn:aws:sqs" + account + "orders-dlq"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := orders()
			maps.Copy(s[test.address], test.change)
			found, _ := findings(t, s.state())
			want(t, found, test.want...)
		})
	}
}

// The regions and accounts of providers differ: a queue is compared with its own.
func TestState_DeadLetterQueueElsewhere(t *testing.T) {
	for _, c := range []struct {
		dead string
		want []string
	}{{"us-east-1:123456789012", nil}, {"eu-west-1:123456789012", []string{"SB203 aws_sqs_queue.us.redrive_policy"}}, {"us-east-1:111122223333", []string{"SB203 aws_sqs_queue.us.redrive_policy"}}} {
		s := orders()
		s["aws_sqs_queue.us"] = m{"name": "us", "arn": "arn:aws:sqs:us-east-1:123456789012:us", "receive_wait_time_seconds": 20,
			"redrive_policy": `{"deadLetterTargetArn":"arn:aws:sqs:` + c.dead + `:far","maxReceiveCount":5}`}
		found, _ := findings(t, s.state())
		want(t, found, c.want...)
	}
}

// What sends to a queue is compared with the source that the queue's policy names, whichever resource says so.
func TestState_SendersThatPoliciesKeepOut(t *testing.T) {
	queue := "arn:aws:sqs" + account + "orders"
	for _, c := range []struct {
		service string
		senders stack
		good    string // the ARN of what sends
	}{
		{"s3", stack{"aws_s3_bucket_notification.n": {"bucket": "shop", "queue": []any{m{"queue_arn": queue}}}}, "arn:aws:s3:::shop"},
		{"s3", stack{"aws_s3_bucket_notification.n": {"bucket": "shop", "queue": []any{m{"queue_arn": queue}}},
			"aws_s3_bucket.shop": {"bucket": "shop", "id": "shop", "arn": "arn:aws:s3:::shop"}}, "arn:aws:s3:::shop"},
		{"events", stack{"aws_cloudwatch_event_target.t": {"rule": "shop", "arn": queue}}, "arn:aws:events" + account + "rule/shop"},
		{"events", stack{"aws_cloudwatch_event_target.t": {"rule": "shop", "arn": queue},
			"aws_cloudwatch_event_rule.shop": {"name": "shop", "event_bus_name": "default", "arn": "arn:aws:events" + account + "rule/shop"}}, "arn:aws:events" + account + "rule/shop"},
		{"sns", stack{"aws_sns_topic_subscription.s": {"topic_arn": "arn:aws:sns" + account + "shop", "protocol": "sqs", "endpoint": queue}}, "arn:aws:sns" + account + "shop"},
	} {
		for _, source := range []string{c.good, strings.Replace(c.good, "shop", "sale", 1)} {
			s := orders()
			maps.Copy(s, c.senders)
			s["aws_sqs_queue.orders"]["policy"] = `{"Statement":[{"Effect":"Allow","Principal":{"Service":"` + c.service + `.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queue +
				`","Condition":{"ArnEquals":{"aws:SourceArn":"` + source + `"}}},{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
			found, _ := findings(t, s.state())
			if kept := len(found) == 1 && strings.HasPrefix(found[0], "SB219 aws_"); kept != (source != c.good) || len(found) > 1 {
				t.Errorf("%s, a policy for %s: %q", c.service, source, found)
			}
		}
	}
}

// A state file itself is read as well.
func TestStateFile(t *testing.T) {
	data := []byte(`{"version": 4, "terraform_version": "1.13.4", "resources": [
		{"module": "module.q[\"a\"]", "mode": "managed", "type": "aws_sqs_queue", "name": "this", "instances": [
			{"index_key": 0, "attributes": {"name": "orders", "sqs_managed_sse_enabled": false, "receive_wait_time_seconds": 20}},
			{"index_key": 1, "deposed": "3c4d5e6f", "attributes": {"name": "old", "sqs_managed_sse_enabled": false}}]}]}`)
	found, _ := findings(t, data)
	want(t, found, `SB214 module.q["a"].aws_sqs_queue.this[0].sqs_managed_sse_enabled`)
}

// A plan has resources with the attributes that are known, and what the configuration says of the
// others.
func plan(resources, configuration []m, calls m) []byte {
	var changes []m
	for _, r := range resources {
		if unknown := r["unknown"]; unknown != nil {
			changes = append(changes, m{"address": r["address"], "change": m{"actions": []string{"create"}, "after_unknown": unknown}})
		}
	}
	data, err := json.Marshal(m{
		"format_version": "1.2", "planned_values": m{"root_module": m{"resources": resources}}, "resource_changes": changes,
		"configuration": m{"root_module": m{"resources": configuration, "module_calls": calls}},
	})
	if err != nil {
		panic(err)
	}
	return data
}

func managed(address, kind, name string, values, unknown m) m {
	return m{"address": address, "mode": "managed", "type": kind, "name": name, "values": values, "unknown": unknown}
}

func refs(list ...string) m { return m{"references": list} }

// The cases are plans and states in which something once was wrong: a finding too many, one too few, a
// secret in a message, a crash. Those that begin with real_ are of Terraform and the AWS provider. The
// golden file has what is found in each, "unknown" before the places that were not checked.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var out strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		golden.OK(t, err)
		found, unknown := findings(t, data)
		out.WriteString(filepath.Base(file) + "\n")
		for _, f := range found {
			out.WriteString("  " + f + "\n")
		}
		for _, u := range unknown {
			out.WriteString("  unknown " + u + "\n")
		}
	}
	golden.Check(t, "cases.txt", out.String())
	if strings.Contains(out.String(), "s3cr3t") {
		t.Error("a secret is in a message")
	}
}

// What is known only after the plan is applied is not judged, and what nobody has set is absent.
func TestPlan_UnknownValuesAreNotJudged(t *testing.T) {
	queue := managed("aws_sqs_queue.orders", "aws_sqs_queue", "orders", m{"name": "orders", "fifo_queue": false, "receive_wait_time_seconds": 20, "visibility_timeout_seconds": nil},
		m{"arn": true, "redrive_policy": true, "redrive_allow_policy": true, "policy": true, "visibility_timeout_seconds": true, "kms_master_key_id": true, "deduplication_scope": true})
	set := m{"address": "aws_sqs_queue.orders", "mode": "managed", "type": "aws_sqs_queue", "name": "orders", "expressions": m{
		"visibility_timeout_seconds": refs("data.external.timeout.result"), "redrive_policy": refs("local.redrive"), "deduplication_scope": refs("var.scope")}}
	mapping := managed("aws_lambda_event_source_mapping.orders", "aws_lambda_event_source_mapping", "orders",
		m{"batch_size": 10, "function_response_types": []any{"ReportBatchItemFailures"}}, m{"event_source_arn": true, "function_name": true})
	from := m{"address": "aws_lambda_event_source_mapping.orders", "expressions": m{
		"event_source_arn": refs("aws_sqs_queue.orders.arn", "aws_sqs_queue.orders"), "function_name": refs("aws_lambda_function.orders.arn", "aws_lambda_function.orders")}}
	function := managed("aws_lambda_function.orders", "aws_lambda_function", "orders", m{"function_name": "orders", "timeout": 30, "runtime": "provided.al2023"}, m{"arn": true, "role": true})
	found, unknown := findings(t, plan([]m{queue, mapping, function}, []m{set, from, {"address": "aws_lambda_function.orders", "expressions": m{"role": refs("module.role.arn")}}}, nil))
	want(t, found)
	for _, place := range []string{
		"aws_sqs_queue.orders.visibility_timeout_seconds: visibility_timeout_seconds is not known: visibility_timeout_seconds is known only after the plan is applied",
		"aws_sqs_queue.orders.redrive_policy: ",
		"aws_lambda_function.orders: the permissions of function aws_lambda_function.orders are not checked: role is known only",
	} {
		if strings.Contains(strings.Join(unknown, "\n"), "deduplication_scope") {
			t.Error("what SQS gives to FIFO queues only is not known of a standard queue")
		}
		if !slices.ContainsFunc(unknown, func(u string) bool { return strings.HasPrefix(u, place) }) {
			t.Errorf("%s is not among the places that were not checked:\n%s", place, strings.Join(unknown, "\n"))
		}
	}
}

// Instances of for_each and count differ by their keys, whatever is in them.
func TestPlan_InstancesAreMatchedByKey(t *testing.T) {
	var resources []m
	for _, key := range []string{"eu.1", `a"b]`} {
		text, _ := json.Marshal(key)
		queue := managed("aws_sqs_queue.q["+string(text)+"]", "aws_sqs_queue", "q", m{"name": "q-" + key[:1], "receive_wait_time_seconds": 20}, m{"arn": true, "redrive_policy": true})
		dead := managed("aws_sqs_queue.dlq["+string(text)+"]", "aws_sqs_queue", "dlq", m{"name": "dlq-" + key[:1], "message_retention_seconds": 345600}, m{"arn": true})
		queue["index"], dead["index"] = key, key
		resources = append(resources, queue, dead)
	}
	found, _ := findings(t, plan(resources, []m{
		{"address": "aws_sqs_queue.q", "expressions": m{"redrive_policy": refs("aws_sqs_queue.dlq", "each.key")}}, {"address": "aws_sqs_queue.dlq"}}, nil))
	want(t, found, `SB204 aws_sqs_queue.dlq["eu.1"].message_retention_seconds`, `SB204 aws_sqs_queue.dlq["a\"b]"].message_retention_seconds`)
}

func TestRead_SaysWhatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                     "cannot be read",
		`{"version": 3, "modules": []}`:         "terraform show -json",
		`{"format_version": "2.0"}`:             "its format_version is 2.0",
		`{"format_version": 1, "values": null}`: "cannot be read",
	} {
		if _, err := terraform.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	data, _ := os.ReadFile("testdata/module.json")
	f.Add(data)
	f.Add(orders().state())
	f.Fuzz(func(t *testing.T, data []byte) {
		if source, err := terraform.Read(data); err == nil {
			if st, err := source.Template.Stack(source.Options); err == nil {
				_, _ = rules.Check(st)
			}
		}
	})
}

func TestSetting_IsHCL(t *testing.T) {
	for want, setting := range map[string]struct {
		name  string
		value any
	}{
		"visibility_timeout_seconds = 180":                      {"VisibilityTimeout", 180},
		`function_response_types = ["ReportBatchItemFailures"]`: {"FunctionResponseTypes", []string{"ReportBatchItemFailures"}},
		`metrics_config { metrics = ["EventCount"] }`:           {"MetricsConfig", map[string]any{"Metrics": []string{"EventCount"}}},
		"maxReceiveCount = 5":                                   {"maxReceiveCount", 5},
		"maximum_concurrency = 2":                               {"MaximumConcurrency", 2},
		`deduplication_scope = "messageGroup"`:                  {"DeduplicationScope", "messageGroup"},
		"remove maximum_batching_window_in_seconds":             {"MaximumBatchingWindowInSeconds", nil},
	} {
		if got := terraform.Setting(setting.name, setting.value); got != want {
			t.Errorf("%s: %s, want %s", setting.name, got, want)
		}
	}
}
