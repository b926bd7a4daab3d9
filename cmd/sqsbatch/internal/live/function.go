package live

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// mappings adds the mappings of a queue, with their functions. needed are the rules that need them.
func (b *builder) mappings(ctx context.Context, q *source.Resource, arn string, needed []string) {
	list, err := b.mappingsTo(ctx, arn)
	if err != nil {
		b.failed(q, err, needed)
		return
	}
	for _, m := range list {
		b.mapping(m).Context = false
	}
	for _, m := range list {
		f, err := parseFunction(m.FunctionArn)
		if err != nil {
			b.failed(q, fmt.Errorf("mapping %s: %w", m.UUID, err), needed)
			continue
		}
		r := b.mapping(m)
		if of := b.function(ctx, r, f); of != nil {
			r.Set("FunctionName", source.GetAtt(of.ID, ""), "FunctionArn")
		}
	}
}

// mapping adds a mapping, which is context until its queue is judged.
func (b *builder) mapping(m mapping) *source.Resource {
	if r := b.made[m.UUID]; r != nil {
		return r
	}
	r := b.make(template.EventSourceMapping, m.UUID, m.UUID, "mapping "+m.UUID)
	r.Context = true
	r.Set("EventSourceArn", b.local(m.EventSourceArn), "EventSourceArn")
	r.Set("FunctionName", m.FunctionArn, "FunctionArn")
	r.Set("Enabled", !strings.HasPrefix(m.State, "Disabl"), "State")
	setAll(r, map[string]any{
		"BatchSize": m.BatchSize, "MaximumBatchingWindowInSeconds": m.MaximumBatchingWindowInSeconds, "FunctionResponseTypes": m.FunctionResponseTypes,
		"ScalingConfig": m.ScalingConfig, "ProvisionedPollerConfig": m.ProvisionedPollerConfig, "MetricsConfig": m.MetricsConfig,
		"DestinationConfig": m.DestinationConfig, "FilterCriteria": m.FilterCriteria,
	})
	if code, _ := m.FilterCriteriaError["ErrorCode"].(string); code != "" {
		r.Set("FilterCriteria", source.Unknown("Lambda cannot read the filters: "+code), "FilterCriteria")
	}
	b.set[r.Address] = func(property string, value any) string {
		var args []string
		switch property {
		case "FunctionResponseTypes":
			args = []string{"--function-response-types", "ReportBatchItemFailures"}
		case "MetricsConfig":
			args = []string{"--metrics-config", "Metrics=EventCount"}
		case "MaximumConcurrency":
			args = []string{"--scaling-config", fmt.Sprintf("MaximumConcurrency=%v", value)}
		default:
			return fmt.Sprintf("set %s to %v", property, value)
		}
		return b.command("lambda", "update-event-source-mapping", append([]string{"--uuid", m.UUID}, args...)...)
	}
	return r
}

// setAll sets properties that the API calls as CloudFormation does.
func setAll(r *source.Resource, properties map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		r.Set(name, given(properties[name]), name)
	}
}

// given is a value of an answer, nil for one that says nothing: null, [], or {"OnFailure": {}}.
func given(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		out := map[string]any{}
		for name, entry := range v {
			if entry = given(entry); entry != nil {
				out[name] = entry
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// function returns the function of a mapping, which it adds with its role and its other mappings. It
// returns nil if the function could not be read.
func (b *builder) function(ctx context.Context, m *source.Resource, f functionName) *source.Resource {
	key := "function " + f.String()
	if r := b.made[key]; r != nil {
		return r
	}
	conf, err := b.account.function(ctx, f)
	if err != nil {
		b.failed(m, err, ofFunction)
		return nil
	}
	r := b.make(template.LambdaFunction, key, f.String(), key)
	setAll(r, map[string]any{
		"Timeout": conf.Timeout, "MemorySize": conf.MemorySize, "DeadLetterConfig": conf.DeadLetterConfig, "TenancyConfig": conf.TenancyConfig,
		"DurableConfig": conf.DurableConfig, "CapacityProviderConfig": conf.CapacityProviderConfig,
	})
	b.environment(r, conf)
	if n, err := b.reserved(ctx, f.name); err != nil {
		r.Set("ReservedConcurrentExecutions", b.unread(err), "ReservedConcurrentExecutions")
	} else if n != nil {
		r.Set("ReservedConcurrentExecutions", *n, "ReservedConcurrentExecutions")
	}
	if b.queue.DeadLetterQueue == "" { // only then a rule asks where failures go instead
		if to, err := b.onFailure(ctx, f); err != nil {
			b.failed(r, err, []string{"SB111"})
		} else if to != "" {
			r.Set("EventInvokeConfig", map[string]any{"DestinationConfig": map[string]any{"OnFailure": map[string]any{"Destination": to}}}, "EventInvokeConfig")
		}
	}
	others, err := b.mappingsOf(ctx, f)
	if err != nil {
		b.failed(r, err, []string{"SB109", "SB119", "SB206"})
	}
	for _, other := range others {
		b.mapping(other).Set("FunctionName", source.GetAtt(r.ID, ""), "FunctionArn")
	}
	b.role(ctx, r, conf.Role)
	return r
}

// environment adds the runtime and the variables of the toolkit. Others may be secret, and no rule
// needs them.
func (b *builder) environment(r *source.Resource, conf *function) {
	runtime := conf.Runtime
	variables := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(conf.Environment.Variables)) {
		if strings.HasPrefix(name, settings.Prefix) {
			variables[name] = conf.Environment.Variables[name]
		}
	}
	if runtime == "" && len(variables) == 0 {
		runtime = "an image of any language"
	}
	if runtime != "" {
		r.Set("Runtime", runtime, "Runtime")
	}
	if code, _ := conf.Environment.Error["ErrorCode"].(string); code != "" {
		r.Set("Environment", map[string]any{"Variables": source.Unknown("Lambda cannot read the variables: " + code)}, "Environment")
		return
	}
	r.Set("Environment", nonEmpty("Variables", variables), "Environment")
}

func nonEmpty(name string, v map[string]any) any {
	if len(v) == 0 {
		return nil
	}
	return map[string]any{name: v}
}

// role adds the role of a function with its policies.
func (b *builder) role(ctx context.Context, f *source.Resource, arn string) {
	name := arn[strings.LastIndex(arn, "/")+1:]
	if name == "" {
		f.Set("Role", source.Unknown("the function has none"), "Role")
		return
	}
	r := b.made[arn]
	if r == nil {
		r = b.make("AWS::IAM::Role", arn, "role "+name, "role "+name)
		r.Set("RoleName", name, "")
		policies, err := b.account.role(ctx, name)
		if err != nil {
			r.Set("Policies", b.unread(err), "Policies")
		} else {
			b.policies(r, policies)
		}
	}
	f.Set("Role", source.GetAtt(r.ID, "Arn"), "Role")
}

// policies adds the policies of a role. Places call them by their names.
func (b *builder) policies(r *source.Resource, policies *role) {
	add := func(name, text string) {
		p := b.make("AWS::IAM::ManagedPolicy", "", "policy "+name, r.Address)
		p.Deep = false
		p.Set("Roles", []any{source.GetAtt(r.ID, "")}, name)
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
		v := document(text)
		if v == nil {
			v = source.Unknown("it is empty")
		}
		p.Set("PolicyDocument", v, name)
	}
	for _, name := range slices.Sorted(maps.Keys(policies.inline)) {
		add(name, policies.inline[name])
	}
	for _, arn := range slices.Sorted(maps.Keys(policies.attached)) {
		add(arn[strings.LastIndex(arn, "/")+1:], policies.attached[arn])
	}
	for _, arn := range policies.known {
		r.Append("ManagedPolicyArns", arn, "ManagedPolicyArns")
	}
}

// knownPolicy reports whether the rules know what a policy of AWS's allows.
func knownPolicy(arn string) bool {
	return strings.Contains(arn, ":iam::aws:policy/") && rules.KnowsPolicy(arn)
}
