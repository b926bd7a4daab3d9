def expressions: with_entries(select(.value | type == "object" or type == "array"));
def inner:
  {resources: [.resources[]? | {address, expressions: (.expressions // {} | expressions)}],
   module_calls: (.module_calls // {} | map_values({expressions, module: (.module | inner)})),
   outputs: (.outputs // {} | map_values({expression})), variables};
{format_version, terraform_version, planned_values, prior_state, variables,
 resource_changes: [.resource_changes[] | {address, type, change: {actions: .change.actions, after_unknown: .change.after_unknown}}],
 configuration: {root_module: (.configuration.root_module | inner)}}
| walk(if type == "object" then with_entries(select(.value != null and .value != {} and .value != [])) else . end)
