package terraform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A conversion makes a template of a plan.
type conversion struct {
	*plan
	list  []resource
	known map[string]any   // intrinsic functions of texts that name a resource of the plan: ARNs, URLs and ids
	out   map[string]*made // by logical id
	steps int              // references that were followed
	order []string         // of out
}

// made is a resource of the template.
type made struct {
	address, kind string
	properties    []property
}

type property struct {
	name  string
	value any
	from  place
}

// set sets a property from an attribute of the resource itself.
func (m *made) set(name string, value any, attribute string) {
	m.setFrom(place{m.address, attribute}, name, value)
}

// setFrom sets a property, that another resource of Terraform's may be for.
func (m *made) setFrom(from place, name string, value any) {
	if value == nil {
		return
	}
	if i := slices.IndexFunc(m.properties, func(p property) bool { return p.name == name }); i >= 0 {
		m.properties[i].value, m.properties[i].from = value, from
		return
	}
	m.properties = append(m.properties, property{name, value, from})
}

// append adds to a list.
func (m *made) append(name string, value any, from string) {
	i := slices.IndexFunc(m.properties, func(p property) bool { return p.name == name })
	if i < 0 {
		m.set(name, []any{value}, from)
	} else if list, ok := m.properties[i].value.([]any); ok {
		m.properties[i].value = append(list, value)
	}
}

func (c *conversion) make(address, kind string) *made {
	id := logicalID(address)
	if c.out[id] == nil {
		c.out[id] = &made{address: address, kind: kind}
		c.order = append(c.order, id)
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
	queueRefs = map[string]string{"arn": "Arn", "id": "", "url": "", "name": "QueueName"}
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
	"aws_iam_role":   {"AWS::IAM::Role", map[string]string{"name": "RoleName", "managed_policy_arns": "ManagedPolicyArns"}, map[string]string{"arn": "Arn", "name": "", "id": ""}},
	"aws_iam_policy": {"AWS::IAM::ManagedPolicy", nil, arnIsRef},
	"aws_kms_key":    {"AWS::KMS::Key", nil, map[string]string{"arn": "Arn", "key_id": "", "id": ""}},
	"aws_kms_alias":  {"AWS::KMS::Alias", map[string]string{"name": "AliasName", "target_key_id": "TargetKeyId"}, map[string]string{"arn": "", "name": "", "id": ""}},
	"aws_sns_topic":  {"AWS::SNS::Topic", map[string]string{"name": "TopicName", "fifo_topic": "FifoTopic"}, arnIsRef},
	"aws_sns_topic_subscription": {"AWS::SNS::Subscription", map[string]string{
		"topic_arn": "TopicArn", "protocol": "Protocol", "endpoint": "Endpoint", "raw_message_delivery": "RawMessageDelivery",
	}, nil},
	"aws_pipes_pipe":         {"AWS::Pipes::Pipe", map[string]string{"source": "Source"}, nil},
	"aws_scheduler_schedule": {"AWS::Scheduler::Schedule", map[string]string{"target.dead_letter_config.arn": "Target.DeadLetterConfig.Arn"}, nil},
	"aws_cloudwatch_metric_alarm": {"AWS::CloudWatch::Alarm", map[string]string{
		"metric_name": "MetricName", "namespace": "Namespace", "threshold": "Threshold", "period": "Period", "statistic": "Statistic",
		"evaluation_periods": "EvaluationPeriods", "comparison_operator": "ComparisonOperator",
	}, nil},
}

// attributes are Terraform's names of properties, for texts.
var attributes = func() map[string]string {
	names := map[string]string{"RedrivePolicy": "redrive_policy", "RedriveAllowPolicy": "redrive_allow_policy", "FilterCriteria": "filter_criteria", "KeyPolicy": "policy"}
	for _, k := range kinds {
		for attribute, property := range k.properties {
			from, to := strings.Split(attribute, "."), strings.Split(property, ".")
			for i := range to {
				if i < len(from) && !slices.Contains([]string{"Name", "Role", "Enabled", "Source", "Handler", "Protocol", "Target", "Arn"}, to[i]) {
					names[to[i]] = from[i]
				}
			}
		}
	}
	return names
}()

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
	m := c.make(r.Address, k.name)
	nested := map[string]map[string]any{}
	for _, attribute := range slices.Sorted(maps.Keys(k.properties)) {
		v := c.value(r, strings.Split(attribute, ".")...)
		if v == nil {
			continue
		}
		_, own := k.refs[attribute]
		if entries, ok := v.(map[string]any); ok && own && isIntrinsic(entries) {
			v = unknown(attribute + afterApply) // a text with the other's name in it
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
		m.set(first, v, from)
	}
	switch r.Type {
	case "aws_sqs_queue":
		m.set("RedrivePolicy", c.redrive(r, r), "redrive_policy")
		m.set("RedriveAllowPolicy", c.json(r, "redrive_allow_policy"), "redrive_allow_policy")
		if policy := c.json(r, "policy"); policy != nil {
			c.queuePolicy(r, r.Address+".policy", map[string]any{"Ref": logicalID(r.Address)}, policy)
		}
	case "aws_lambda_function":
		m.properties = slices.DeleteFunc(m.properties, func(p property) bool {
			return p.name == "ReservedConcurrentExecutions" && p.value == json.Number("-1") // as the provider says that there is none
		})
	case "aws_lambda_event_source_mapping":
		m.set("FilterCriteria", c.filters(r), "filter_criteria")
	case "aws_iam_role":
		for i := range blocks(r.Values["inline_policy"]) {
			if policy := c.json(r, "inline_policy", number(i), "policy"); policy != nil {
				m.append("Policies", map[string]any{"PolicyDocument": policy}, "inline_policy")
			}
		}
	case "aws_iam_policy":
		m.set("PolicyDocument", c.json(r, "policy"), "policy")
	case "aws_kms_key":
		m.set("KeyPolicy", c.json(r, "policy"), "policy")
	case "aws_sns_topic_subscription":
		m.set("RedrivePolicy", c.json(r, "redrive_policy"), "redrive_policy")
	case "aws_cloudwatch_metric_alarm":
		m.set("Dimensions", dimensions(c.value(r, "dimensions")), "dimensions")
		m.set("Metrics", c.metrics(r), "metric_query")
	}
}

// convertOther is for types that no type of CloudFormation's corresponds to.
func (c *conversion) convertOther(r resource) {
	switch r.Type {
	case "aws_sqs_queue_policy":
		c.queuePolicy(r, r.Address, c.value(r, "queue_url"), c.json(r, "policy"))
	case "aws_iam_role_policy":
		m := c.make(r.Address, "AWS::IAM::RolePolicy")
		m.set("RoleName", c.value(r, "role"), "role")
		m.set("PolicyDocument", c.json(r, "policy"), "policy")
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
		c.make(r.Address, "AWS::Events::Rule").append("Targets", target, "arn")
	case "aws_s3_bucket_notification":
		m := c.make(r.Address, "AWS::S3::Bucket")
		var list []any
		for i := range blocks(r.Values["queue"]) {
			list = append(list, map[string]any{"Queue": c.value(r, "queue", number(i), "queue_arn")})
		}
		m.set("NotificationConfiguration", nonNil("QueueConfigurations", anyOf(list)), "queue")
	}
}

// amend adds resources of Terraform's that change others.
func (c *conversion) amend(r resource) {
	switch r.Type {
	case "aws_sqs_queue_redrive_policy":
		if q, ok := c.named(c.value(r, "queue_url")); ok {
			q.setFrom(place{r.Address, "redrive_policy"}, "RedrivePolicy", c.redrive(r, resource{Address: q.address}))
		}
	case "aws_sqs_queue_redrive_allow_policy":
		if q, ok := c.named(c.value(r, "queue_url")); ok {
			q.setFrom(place{r.Address, "redrive_allow_policy"}, "RedriveAllowPolicy", c.json(r, "redrive_allow_policy"))
		}
	case "aws_kms_key_policy":
		if k, ok := c.named(c.value(r, "key_id")); ok {
			k.setFrom(place{r.Address, "policy"}, "KeyPolicy", c.json(r, "policy"))
		}
	case "aws_iam_role_policy_attachment":
		c.attach(r, c.value(r, "policy_arn"), []any{c.value(r, "role")})
	case "aws_iam_policy_attachment":
		roles, _ := c.value(r, "roles").([]any)
		c.attach(r, c.value(r, "policy_arn"), roles)
	}
}

// attach gives roles a policy of the plan, or one of AWS's or of another plan by its ARN.
func (c *conversion) attach(r resource, policy any, roles []any) {
	if own, ok := c.named(policy); ok {
		for _, role := range roles {
			own.append("Roles", role, "roles")
		}
		return
	}
	for _, role := range roles {
		if m, ok := c.named(role); ok {
			m.append("ManagedPolicyArns", policy, "managed_policy_arns")
			continue
		}
		m := c.make(r.Address, "AWS::IAM::ManagedPolicy") // of a role that may be any
		m.append("Roles", role, "role")
		m.set("PolicyDocument", unknown("it is attached by "+r.Address), "policy_arn")
	}
}

// named returns the resource that a value names, by a reference, or a role by its name.
func (c *conversion) named(v any) (*made, bool) {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["Ref"].(string); ok {
			return c.out[id], c.out[id] != nil
		}
		if list, ok := v["Fn::GetAtt"].([]any); ok {
			id, _ := list[0].(string)
			return c.out[id], c.out[id] != nil
		}
	case string:
		for _, id := range c.order {
			m := c.out[id]
			if i := slices.IndexFunc(m.properties, func(p property) bool { return p.name == "RoleName" && p.value == v }); i >= 0 && m.kind == "AWS::IAM::Role" {
				return m, true
			}
		}
	}
	return nil, false
}

// queuePolicy adds a policy of a queue. The one in the queue itself has an id of its own.
func (c *conversion) queuePolicy(r resource, id string, queue, policy any) {
	m := c.make(id, "AWS::SQS::QueuePolicy")
	m.address = r.Address
	m.append("Queues", queue, "queue_url")
	m.set("PolicyDocument", policy, "policy")
}

// redrive is the redrive_policy of r, which is for the queue of. If it is known only after the
// plan is applied, its queue may still be known: the only other queue that it refers to.
func (c *conversion) redrive(r, of resource) any {
	v := c.json(r, "redrive_policy")
	if entries, _ := v.(map[string]any); entries[Unknown] == nil {
		return v
	}
	found := c.targets(c.expression(r, "redrive_policy"), r, 0)
	policy := map[string]any{"deadLetterTargetArn": v, "maxReceiveCount": v}
	queues := map[string]any{}
	for _, t := range found {
		if t.resource.Type == "aws_sqs_queue" && t.resource.Address != of.Address {
			queues[t.resource.Address] = map[string]any{"Fn::GetAtt": []any{logicalID(t.resource.Address), "Arn"}}
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
			if d := dimensions(c.value(r, "metric_query", number(i), "metric", "dimensions")); d != nil {
				metric["Dimensions"] = d
			}
			query["MetricStat"] = map[string]any{"Metric": metric}
		}
		list = append(list, query)
	}
	return anyOf(list)
}

func dimensions(v any) any {
	entries, ok := v.(map[string]any)
	if !ok || isIntrinsic(entries) {
		return v
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, map[string]any{"Name": name, "Value": entries[name]})
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
