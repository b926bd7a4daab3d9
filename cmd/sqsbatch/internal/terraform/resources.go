package terraform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// A conversion makes a template of a plan.
type conversion struct {
	*plan
	options template.Options
	list    []resource
	ids     map[string]string              // logical ids by address
	named   map[instanceKey][]int          // of list
	keys    map[string][]string            // the keys that a module is called with, by its address without the last key
	known   map[string]any                 // references by what names a resource of the plan: ARNs, URLs and ids
	count   map[[2]string]int              // resources of a type and a name
	owned   map[string]bool                // what other resources, deleted ones included, have set in a resource
	byName  map[[2]string]*source.Resource // by type and name
	out     map[string]*source.Resource    // by logical id
	steps   int                            // references that were followed
	order   []*source.Resource             // of out
	configs map[string]map[string]any      // of the resources of a module, by their addresses in it
}

// make returns the resource of the template for one of the plan, or for a part of it.
func (c *conversion) make(r resource, part, kind string) *source.Resource {
	id := c.ids[r.Address] + strings.ReplaceAll(part, ".", "_")
	if c.out[id] == nil {
		c.out[id] = &source.Resource{ID: id, Name: r.Address + part, Address: r.Address, Type: kind}
		c.order = append(c.order, c.out[id])
	}
	return c.out[id]
}

// A kind is a type of resources of Terraform's: the type of CloudFormation's, its properties by
// attributes, and what its own attributes are called when another resource refers to them.
type kind struct {
	name       string
	properties map[string]string // by attribute. A dot goes into a block, of which there is one
	refs       map[string]string // attributes by attribute, "" for a Ref
}

var (
	queueRefs = map[string]string{"arn": "Arn", "id": "", "url": ""}
	arnIsRef  = map[string]string{"arn": "", "id": ""}
)

var kinds = map[string]kind{
	"aws_sqs_queue": {"AWS::SQS::Queue", map[string]string{
		"name": "QueueName", "fifo_queue": "FifoQueue", "visibility_timeout_seconds": "VisibilityTimeout",
		"message_retention_seconds": "MessageRetentionPeriod", "delay_seconds": "DelaySeconds",
		"receive_wait_time_seconds": "ReceiveMessageWaitTimeSeconds", "max_message_size": "MaximumMessageSize",
		"content_based_deduplication": "ContentBasedDeduplication", "deduplication_scope": "DeduplicationScope",
		"fifo_throughput_limit": "FifoThroughputLimit", "kms_master_key_id": "KmsMasterKeyId",
		"kms_data_key_reuse_period_seconds": "KmsDataKeyReusePeriodSeconds", "sqs_managed_sse_enabled": "SqsManagedSseEnabled",
	}, queueRefs},
	"aws_lambda_function": {"AWS::Lambda::Function", map[string]string{
		"function_name": "FunctionName", "timeout": "Timeout", "memory_size": "MemorySize", "runtime": "Runtime", "handler": "Handler",
		"role": "Role", "environment.variables": "Environment.Variables", "reserved_concurrent_executions": "ReservedConcurrentExecutions",
		"logging_config.application_log_level": "LoggingConfig.ApplicationLogLevel", "logging_config.log_format": "LoggingConfig.LogFormat",
		"dead_letter_config.target_arn": "DeadLetterConfig.TargetArn", "durable_config.execution_timeout": "DurableConfig.ExecutionTimeout",
		"tenancy_config.tenant_isolation_mode": "TenancyConfig.TenantIsolationMode",
		"capacity_provider_config":             "CapacityProviderConfig",
	}, map[string]string{"arn": "Arn", "qualified_arn": "Arn", "invoke_arn": "Arn", "function_name": "", "id": ""}},
	"aws_lambda_alias": {"AWS::Lambda::Alias", map[string]string{"function_name": "FunctionName", "name": "Name"}, map[string]string{"arn": "", "invoke_arn": ""}},
	"aws_lambda_event_source_mapping": {"AWS::Lambda::EventSourceMapping", map[string]string{
		"event_source_arn": "EventSourceArn", "function_name": "FunctionName", "batch_size": "BatchSize", "enabled": "Enabled",
		"maximum_batching_window_in_seconds": "MaximumBatchingWindowInSeconds", "function_response_types": "FunctionResponseTypes",
		"scaling_config.maximum_concurrency":            "ScalingConfig.MaximumConcurrency",
		"provisioned_poller_config.minimum_pollers":     "ProvisionedPollerConfig.MinimumPollers",
		"provisioned_poller_config.maximum_pollers":     "ProvisionedPollerConfig.MaximumPollers",
		"destination_config.on_failure.destination_arn": "DestinationConfig.OnFailure.Destination",
		"metrics_config.metrics":                        "MetricsConfig.Metrics",
	}, nil},
	"aws_lambda_function_event_invoke_config": {"AWS::Lambda::EventInvokeConfig", map[string]string{
		"function_name": "FunctionName", "destination_config.on_failure.destination": "DestinationConfig.OnFailure.Destination",
	}, nil},
	"aws_iam_role":   {"AWS::IAM::Role", map[string]string{"name": "RoleName"}, map[string]string{"arn": "Arn", "name": "", "id": ""}},
	"aws_iam_policy": {"AWS::IAM::ManagedPolicy", nil, arnIsRef},
	"aws_kms_key":    {"AWS::KMS::Key", nil, map[string]string{"arn": "Arn", "key_id": "", "id": ""}},
	"aws_kms_alias":  {"AWS::KMS::Alias", map[string]string{"name": "AliasName", "target_key_id": "TargetKeyId"}, map[string]string{"arn": "", "name": "", "id": ""}},
	"aws_sns_topic":  {"AWS::SNS::Topic", map[string]string{"name": "TopicName", "fifo_topic": "FifoTopic"}, arnIsRef},
	"aws_sns_topic_subscription": {"AWS::SNS::Subscription", map[string]string{
		"topic_arn": "TopicArn", "protocol": "Protocol", "endpoint": "Endpoint", "raw_message_delivery": "RawMessageDelivery",
	}, nil},
	"aws_s3_bucket":             {"AWS::S3::Bucket", map[string]string{"bucket": "BucketName"}, map[string]string{"arn": "Arn", "id": "", "bucket": ""}},
	"aws_cloudwatch_event_rule": {"AWS::Events::Rule", map[string]string{"name": "Name", "event_bus_name": "EventBusName"}, map[string]string{"arn": "Arn", "name": "", "id": ""}},
	"aws_pipes_pipe":            {"AWS::Pipes::Pipe", map[string]string{"source": "Source"}, nil},
	"aws_scheduler_schedule":    {"AWS::Scheduler::Schedule", map[string]string{"target.dead_letter_config.arn": "Target.DeadLetterConfig.Arn"}, nil},
	"aws_cloudwatch_metric_alarm": {"AWS::CloudWatch::Alarm", map[string]string{
		"metric_name": "MetricName", "namespace": "Namespace", "threshold": "Threshold", "period": "Period", "statistic": "Statistic",
		"evaluation_periods": "EvaluationPeriods", "comparison_operator": "ComparisonOperator",
	}, nil},
	"aws_ecs_task_definition": {template.TaskDefinition, map[string]string{
		"memory": "Memory", "requires_compatibilities": "RequiresCompatibilities", "task_role_arn": "TaskRoleArn",
	}, map[string]string{"arn": "", "arn_without_revision": "", "family": ""}},
	"aws_ecs_service": {"AWS::ECS::Service", map[string]string{
		"name": "ServiceName", "task_definition": "TaskDefinition", "deployment_controller.type": "DeploymentController.Type", "alarms": "DeploymentConfiguration.Alarms",
		"deployment_circuit_breaker.enable": "DeploymentConfiguration.DeploymentCircuitBreaker.Enable",
	}, nil},
	"aws_appautoscaling_target": {"AWS::ApplicationAutoScaling::ScalableTarget", map[string]string{"resource_id": "ResourceId", "min_capacity": "MinCapacity"}, nil},
	"aws_appautoscaling_policy": {"AWS::ApplicationAutoScaling::ScalingPolicy", map[string]string{
		"resource_id": "ResourceId",
		"target_tracking_scaling_policy_configuration.predefined_metric_specification.predefined_metric_type": "TargetTrackingScalingPolicyConfiguration.PredefinedMetricSpecification.PredefinedMetricType",
		"target_tracking_scaling_policy_configuration.customized_metric_specification.metrics":                "TargetTrackingScalingPolicyConfiguration.CustomizedMetricSpecification.Metrics",
	}, nil},
}

// attributes are Terraform's names of properties, for texts.
var attributes = func() map[string]string {
	names := map[string]string{"RedrivePolicy": "redrive_policy", "ManagedPolicyArns": "managed_policy_arns", "RedriveAllowPolicy": "redrive_allow_policy", "FilterCriteria": "filter_criteria", "KeyPolicy": "policy", "AssumeRolePolicyDocument": "assume_role_policy", "RoleArn": "role_arn", "SqsParameters": "sqs_target", "MessageGroupId": "message_group_id"}
	for _, k := range kinds {
		for attribute, property := range k.properties {
			from, to := strings.Split(attribute, "."), strings.Split(property, ".")
			for i := range to {
				if i < len(from) && !slices.Contains([]string{"Name", "Role", "Enabled", "Source", "Handler", "Protocol", "Target", "Arn", "Destination", "Memory", "Type", "Enable"}, to[i]) {
					names[to[i]] = from[i]
				}
			}
		}
	}
	names["DeploymentCircuitBreaker"] = "deployment_circuit_breaker"
	return names
}()

// isUnknown reports whether a value is known only after the plan is applied.
func isUnknown(v any) bool {
	f, ok := v.(fn)
	return ok && f[template.UnknownFunction] != nil
}

// nameOf is the attribute with the name of a resource of a type.
func nameOf(kind string) string {
	switch kind {
	case "aws_lambda_function":
		return "function_name"
	case "aws_s3_bucket":
		return "bucket"
	}
	return "name"
}

// convert makes the resources of the template that stand for one of the plan.
func (c *conversion) convert(r resource) {
	if r.Mode == "data" {
		return
	}
	k, ok := kinds[r.Type]
	if !ok {
		c.convertOther(r)
		return
	}
	m := c.make(r, "", k.name)
	nested := map[string]map[string]any{}
	for _, attribute := range slices.Sorted(maps.Keys(k.properties)) {
		v := c.value(r, strings.Split(attribute, ".")...)
		if v == nil {
			continue
		}
		if r.Type == "aws_sqs_queue" && r.Values["fifo_queue"] == false && (attribute == "deduplication_scope" || attribute == "fifo_throughput_limit") && isUnknown(v) {
			continue // SQS gives them to FIFO queues only
		}
		if name, ok := v.(string); ok && k.refs != nil && attribute == nameOf(r.Type) && c.count[[2]string{r.Type, name}] > 1 {
			continue // the id is its name: another region or account has one of that name
		}
		first, rest, below := strings.Cut(k.properties[attribute], ".")
		from, _, _ := strings.Cut(attribute, ".")
		if below {
			if nested[first] == nil {
				nested[first] = map[string]any{}
			}
			at := nested[first]
			for part, more, deeper := strings.Cut(rest, "."); ; part, more, deeper = strings.Cut(more, ".") {
				if !deeper {
					at[part] = v
					break
				}
				inner := map[string]any{}
				at[part], at = inner, inner
			}
			v = nested[first]
		}
		m.Set(first, v, from)
	}
	if name, ok := r.Values[nameOf(r.Type)].(string); ok && c.count[[2]string{r.Type, name}] == 1 {
		c.byName[[2]string{r.Type, name}] = m
	}
	switch r.Type {
	case "aws_sqs_queue":
		if arn, ok := r.Values["arn"].(string); ok {
			m.Set("Arn", arn, "arn") // no property of CloudFormation's
		} else {
			m.Set("Arn", unknown("arn"+afterApply), "arn")
		}
		if c.isOwn(r, "redrive_policy", "") {
			m.Set("RedrivePolicy", c.redrive(r, r), "redrive_policy")
		}
		if c.isOwn(r, "redrive_allow_policy", "") {
			m.Set("RedriveAllowPolicy", c.json(r, "redrive_allow_policy"), "redrive_allow_policy")
		}
		if policy := c.json(r, "policy"); policy != nil && c.isOwn(r, "policy", "") {
			c.queuePolicy(r, ".policy", c.reference(r, ""), policy)
		}
	case "aws_lambda_function":
		m.Delete("ReservedConcurrentExecutions", json.Number("-1")) // as the provider says that there is none
		if r.Values["package_type"] == "Image" && !hasVariables(at(r.Values, "environment", "variables")) {
			m.Set("Runtime", "an image of any language", "package_type")
		}
	case "aws_lambda_event_source_mapping":
		m.Set("FilterCriteria", c.filters(r), "filter_criteria")
	case "aws_iam_role":
		m.Set("AssumeRolePolicyDocument", c.json(r, "assume_role_policy"), "assume_role_policy")
		for i := range blocks(r.Values["inline_policy"]) {
			name, _ := at(r.Values, "inline_policy", number(i), "name").(string)
			if !c.isOwn(r, "inline_policy", name) {
				continue
			}
			if policy := c.json(r, "inline_policy", number(i), "policy"); policy != nil {
				m.Append("Policies", map[string]any{"PolicyDocument": policy}, "inline_policy")
			}
		}
	case "aws_iam_policy":
		m.Set("PolicyDocument", c.json(r, "policy"), "policy")
	case "aws_kms_key":
		policy := c.json(r, "policy")
		if policy == nil { // the default of KMS
			policy = map[string]any{"Statement": map[string]any{"Effect": "Allow", "Action": "kms:*", "Resource": "*",
				"Principal": map[string]any{"AWS": "arn:aws:iam::" + cmp.Or(c.options.AccountID, "000000000000") + ":root"}}}
		}
		m.Set("KeyPolicy", policy, "policy")
	case "aws_sns_topic_subscription":
		m.Set("RedrivePolicy", c.json(r, "redrive_policy"), "redrive_policy")
	case "aws_ecs_task_definition":
		m.Set("ContainerDefinitions", c.json(r, "container_definitions"), "container_definitions")
	case "aws_cloudwatch_metric_alarm":
		m.Set("Dimensions", c.dimensions(c.value(r, "dimensions")), "dimensions")
		m.Set("Metrics", c.metrics(r), "metric_query")
	}
}

// convertOther is for types that no type of CloudFormation's corresponds to.
func (c *conversion) convertOther(r resource) {
	switch r.Type {
	case "aws_sqs_queue_policy":
		c.queuePolicy(r, "", c.value(r, "queue_url"), c.json(r, "policy"))
	case "aws_iam_role_policy":
		m := c.make(r, "", "AWS::IAM::RolePolicy")
		m.Set("RoleName", c.value(r, "role"), "role")
		m.Set("PolicyDocument", c.json(r, "policy"), "policy")
	}
}

// amend adds resources of Terraform's that change others.
func (c *conversion) amend(r resource) {
	switch r.Type {
	case "aws_cloudwatch_event_target":
		target := map[string]any{}
		for to, v := range map[string]any{
			"Arn": c.value(r, "arn"), "RoleArn": c.value(r, "role_arn"),
			"SqsParameters":    nonNil("MessageGroupId", c.value(r, "sqs_target", "message_group_id")),
			"DeadLetterConfig": nonNil("Arn", c.value(r, "dead_letter_config", "arn")),
		} {
			if v != nil {
				target[to] = v
			}
		}
		c.sender(r, "rule", "aws_cloudwatch_event_rule").AppendFrom(source.Place{Address: r.Address, Attribute: "arn"}, "Targets", target)
	case "aws_s3_bucket_notification":
		var list []any
		for i := range blocks(r.Values["queue"]) {
			list = append(list, map[string]any{"Queue": c.value(r, "queue", number(i), "queue_arn")})
		}
		c.sender(r, "bucket", "aws_s3_bucket").SetFrom(source.Place{Address: r.Address, Attribute: "queue"}, "NotificationConfiguration", nonNil("QueueConfigurations", anyOf(list)))
	case "aws_sqs_queue_redrive_policy":
		if q, ok := c.made(c.value(r, "queue_url"), ""); ok {
			q.SetFrom(source.Place{Address: r.Address, Attribute: "redrive_policy"}, "RedrivePolicy", c.redrive(r, resource{Address: q.Address}))
		}
	case "aws_sqs_queue_redrive_allow_policy":
		if q, ok := c.made(c.value(r, "queue_url"), ""); ok {
			q.SetFrom(source.Place{Address: r.Address, Attribute: "redrive_allow_policy"}, "RedriveAllowPolicy", c.json(r, "redrive_allow_policy"))
		}
	case "aws_kms_key_policy":
		if k, ok := c.made(c.value(r, "key_id"), ""); ok {
			k.SetFrom(source.Place{Address: r.Address, Attribute: "policy"}, "KeyPolicy", c.json(r, "policy"))
		}
	case "aws_iam_role": // lists what is attached to it, too
		arns := c.value(r, "managed_policy_arns")
		list, ok := arns.([]any)
		if !ok && arns != nil {
			list = []any{arns}
		}
		for i, arn := range list {
			text, _ := at(r.Values, "managed_policy_arns", number(i)).(string)
			if c.isOwn(r, "managed_policy_arns", text) {
				c.attach(r, arn, []any{c.reference(r, "")})
			}
		}
	case "aws_iam_role_policy_attachment":
		c.attach(r, c.value(r, "policy_arn"), []any{c.value(r, "role")})
	case "aws_iam_policy_attachment":
		switch roles := c.value(r, "roles").(type) {
		case []any:
			c.attach(r, c.value(r, "policy_arn"), roles)
		case fn:
			c.attach(r, c.value(r, "policy_arn"), []any{roles})
		}
	}
}

// sender is the resource of a type that r names and makes send: one of the plan, or else one that stands for r.
func (c *conversion) sender(r resource, attribute, kind string) *source.Resource {
	v := c.value(r, attribute)
	if m, ok := c.made(v, kind); ok && m.Type == kinds[kind].name {
		return m
	}
	m := c.make(r, "", kinds[kind].name)
	if name, ok := v.(string); ok {
		m.Set(kinds[kind].properties[nameOf(kind)], name, attribute)
	}
	return m
}

// attach gives roles a policy of the plan, or one of AWS's or of another plan by its ARN.
func (c *conversion) attach(r resource, policy any, roles []any) {
	own, ok := c.made(policy, "")
	for _, role := range roles {
		if role == nil {
			role = unknown("a role of " + r.Address + afterApply)
		}
		if ok {
			own.Append("Roles", role, "roles")
		} else if m, known := c.made(role, "aws_iam_role"); known {
			m.Append("ManagedPolicyArns", policy, "managed_policy_arns")
		} else {
			m := c.make(r, "", "AWS::IAM::ManagedPolicy") // of a role that may be any
			m.Append("Roles", role, "role")
			m.Set("PolicyDocument", unknown("it is attached by "+r.Address), "policy_arn")
		}
	}
}

// own names a part of a resource that another resource sets.
func own(resource any, attribute, name string) string {
	return fmt.Sprint(resource) + "\x00" + attribute + "\x00" + name
}

// parts are the types of resources that set a part of another one: the attribute that names the
// other, what they set of it, and the attribute that says which.
var parts = map[string][3]string{
	"aws_sqs_queue_policy":               {"queue_url", "policy", ""},
	"aws_sqs_queue_redrive_policy":       {"queue_url", "redrive_policy", ""},
	"aws_sqs_queue_redrive_allow_policy": {"queue_url", "redrive_allow_policy", ""},
	"aws_iam_role_policy":                {"role", "inline_policy", "name"},
	"aws_iam_role_policy_attachment":     {"role", "managed_policy_arns", "policy_arn"},
}

// setParts notes what other resources set, or have set until the plan deletes them.
func (c *conversion) setParts() {
	c.owned = map[string]bool{}
	add := func(kind string, values map[string]any) {
		if p, ok := parts[kind]; ok && values[p[0]] != nil {
			name, _ := values[p[2]].(string)
			c.owned[own(values[p[0]], p[1], name)] = true
		}
	}
	for _, r := range c.list {
		if r.Type != "aws_iam_role_policy_attachment" { // whose policy the role has
			add(r.Type, r.Values)
		}
	}
	for _, change := range c.Changes {
		if slices.Contains(change.Change.Actions, "delete") || slices.Contains(change.Change.Actions, "update") {
			add(change.Type, change.Change.Before)
		}
	}
}

// isOwn reports whether a part of a resource is its own. Another resource may have set it: the
// provider reads it into both.
func (c *conversion) isOwn(r resource, attribute, name string) bool {
	return c.expression(r, attribute) != nil || !slices.ContainsFunc([]string{"id", "url", "name"}, func(by string) bool {
		return c.owned[own(r.Values[by], attribute, name)]
	})
}

// made returns the resource of the template that a value names: by a reference, or one of a type by its name.
func (c *conversion) made(v any, kind string) (m *source.Resource, ok bool) {
	switch v := v.(type) {
	case fn:
		id, _ := v["Ref"].(string)
		if list, ok := v["Fn::GetAtt"].([]any); ok {
			id, _ = list[0].(string)
		}
		m = c.out[id]
	case string:
		m = c.byName[[2]string{kind, v}]
	}
	return m, m != nil
}

// queuePolicy adds a policy of a queue. The one in the queue itself is a part of it.
func (c *conversion) queuePolicy(r resource, part string, queue, policy any) {
	m := c.make(r, part, "AWS::SQS::QueuePolicy")
	m.Append("Queues", queue, "queue_url")
	m.Set("PolicyDocument", policy, "policy")
}

// redrive is the redrive_policy of r, which is for the queue of. If it is known only after the
// plan is applied, its queue may still be known: the only other queue that it refers to.
func (c *conversion) redrive(r, of resource) any {
	v := c.json(r, "redrive_policy")
	if !isUnknown(v) {
		return v
	}
	policy := map[string]any{"deadLetterTargetArn": v, "maxReceiveCount": v}
	queues := map[string]any{}
	for _, t := range c.targets(c.expression(r, "redrive_policy"), r, 0) {
		if t.resource != nil && t.resource.Type == "aws_sqs_queue" && t.resource.Address != of.Address {
			queues[t.resource.Address] = c.reference(*t.resource, "Arn")
		}
		if given, ok := t.constant.(map[string]any); ok && given["maxReceiveCount"] != nil {
			policy["maxReceiveCount"] = given["maxReceiveCount"]
		}
	}
	for _, arn := range queues {
		if len(queues) == 1 {
			policy["deadLetterTargetArn"] = arn
		}
	}
	return policy
}

func (c *conversion) filters(r resource) any {
	var list []any
	for i := range blocks(r.Values["filter_criteria"]) {
		for j := range blocks(at(r.Values, "filter_criteria", number(i), "filter")) {
			if pattern := c.value(r, "filter_criteria", number(i), "filter", number(j), "pattern"); pattern != nil {
				list = append(list, map[string]any{"Pattern": pattern})
			}
		}
	}
	return nonNil("Filters", anyOf(list))
}

func (c *conversion) metrics(r resource) any {
	var list []any
	for i := range blocks(r.Values["metric_query"]) {
		query := map[string]any{}
		if expression := c.value(r, "metric_query", number(i), "expression"); expression != nil {
			query["Expression"] = expression
		}
		if name := c.value(r, "metric_query", number(i), "metric", "metric_name"); name != nil {
			metric := map[string]any{"MetricName": name}
			if d := c.dimensions(c.value(r, "metric_query", number(i), "metric", "dimensions")); d != nil {
				metric["Dimensions"] = d
			}
			query["MetricStat"] = map[string]any{"Metric": metric}
		}
		list = append(list, query)
	}
	return anyOf(list)
}

func (c *conversion) dimensions(v any) any {
	entries, ok := v.(map[string]any)
	if !ok {
		return v
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		value := entries[name]
		if text, ok := value.(string); ok && c.count[[2]string{"aws_sqs_queue", text}] > 1 {
			value = unknown("there are several queues named " + text)
		}
		list = append(list, map[string]any{"Name": name, "Value": value})
	}
	return anyOf(list)
}

// nonNil returns a mapping with one entry, nil without a value.
func nonNil(name string, v any) any {
	if v == nil {
		return nil
	}
	return map[string]any{name: v}
}

// anyOf returns a list, nil if it is empty.
func anyOf(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// hasVariables reports whether an environment has variables of the toolkit.
func hasVariables(environment any) bool {
	variables, _ := environment.(map[string]any)
	for name := range variables {
		if strings.HasPrefix(name, settings.Prefix) {
			return true
		}
	}
	return false
}
