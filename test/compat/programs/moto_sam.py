"""moto's server, with what is missing in its CloudFormation for this stack.

    python moto_sam.py PORT RESOLVED

RESOLVED is a file that gets a line of JSON for each resource that is made or
changed: its stack, logical id and properties, with every function evaluated.
That is what CloudFormation asks a service for; moto's keep only part of it.

AWS expands the transform of a SAM template when a change set is made, by the
translator that AWS publishes; moto leaves it, so the translator is called here.
And moto knows no alarms in templates, forgets outputs and tags of a stack that
was made by a change set, and changes two attributes of a queue at an update.
"""

import copy
import json
import sys

from moto.cloudformation import models as cloudformation
from moto.cloudformation import parsing
from moto.cloudwatch.models import Alarm, cloudwatch_backends
from moto.core.common_models import CloudFormationModel
from moto.server import main
from moto.sqs.models import Queue, sqs_backends
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

TRANSFORM = "AWS::Serverless-2016-10-31"


def expanded(template, parameters):
    """The template after its transform; the same one when it has none."""
    if template.get("Transform") != TRANSFORM:
        return template
    values = {k: str(v["Default"]) for k, v in template.get("Parameters", {}).items() if "Default" in v}
    values.update({k: str(v) for k, v in (parameters or {}).items()})
    return Translator({}, Parser()).translate(copy.deepcopy(template), values)


def text(value):
    """Scalars as CloudFormation sees them; mappings are looked up by text."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


class TextMap(dict):
    """A mapping of a template whose keys are found also when they are asked for as numbers."""

    def __getitem__(self, key):
        return super().__getitem__(text(key))


def load_mapping(resource_map):
    resource_map._parsed_resources.update(
        {
            name: TextMap({str(k): TextMap({str(a): b for a, b in v.items()}) for k, v in rows.items()})
            for name, rows in resource_map._template.get("Mappings", {}).items()
        }
    )


def changed_by(template, names):
    """The parameters that a part of a template depends on, also through conditions."""
    found = set()

    def walk(part):
        if isinstance(part, dict):
            for key, value in part.items():
                if key == "Ref":
                    found.add(value)
                elif key in ("Fn::If", "Condition"):
                    name = value[0] if isinstance(value, list) else value
                    if isinstance(name, str):
                        walk(template.get("Conditions", {}).get(name))
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(names)
    return found


def apply(change_set):
    stack = change_set.stack
    stack.resource_map.update(change_set.template_dict, change_set.parameters)
    stack.template_dict = change_set.template_dict
    stack.parameters = change_set.parameters
    stack.description = change_set.template_dict.get("Description")
    stack.output_map = parsing.OutputMap(stack.resource_map, stack.template_dict, stack.stack_id)
    stack.tags = change_set.tags or stack.tags


def build_resource_diff(resource_map, template, parameters=None):
    old, new = resource_map._resource_json_map, template["Resources"]
    changed = {p for p, v in (parameters or {}).items() if text(resource_map.resolved_parameters.get(p)) != text(v)}
    differs = lambda name: new[name] != old[name] or changed & changed_by(template, new[name])
    return {
        "Add": [name for name in new if name not in old],
        "Modify": [name for name in new if name in old and differs(name)],
        "Remove": [name for name in old if name not in new],
    }


class TemplateAlarm(CloudFormationModel):
    """AWS::CloudWatch::Alarm, kept by moto's CloudWatch."""

    __module__ = "moto.cloudwatch.models"  # by which moto knows a model's service

    def __init__(self, name):
        self.name = name

    @property
    def physical_resource_id(self):
        return self.name

    @staticmethod
    def cloudformation_name_type():
        return "AlarmName"

    @staticmethod
    def cloudformation_type():
        return "AWS::CloudWatch::Alarm"

    @classmethod
    def create_from_cloudformation_json(cls, resource_name, cloudformation_json, account_id, region_name, **_):
        p = cloudformation_json["Properties"]
        names = {
            "Namespace": "namespace", "MetricName": "metric_name", "ComparisonOperator": "comparison_operator",
            "EvaluationPeriods": "evaluation_periods", "DatapointsToAlarm": "datapoints_to_alarm", "Period": "period",
            "Threshold": "threshold", "Statistic": "statistic", "AlarmDescription": "description", "Dimensions": "dimensions",
            "AlarmActions": "alarm_actions", "TreatMissingData": "treat_missing_data",
        }  # fmt: skip
        unknown = set(p) - set(names) - {"AlarmName"}
        if unknown:
            raise NotImplementedError(f"{resource_name}: {unknown}")
        values = {"alarm_actions": []} | {names[k]: v for k, v in p.items() if k in names}
        for name in ("threshold", "period", "evaluation_periods", "datapoints_to_alarm"):
            if name in values:
                values[name] = float(values[name]) if name == "threshold" else int(values[name])
        cloudwatch_backends[account_id][region_name].put_metric_alarm(name=resource_name, **values)
        return cls(resource_name)

    @classmethod
    def update_from_cloudformation_json(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
        return cls.create_from_cloudformation_json(original_resource.name, cloudformation_json, account_id, region_name)

    @classmethod
    def delete_from_cloudformation_json(cls, resource_name, cloudformation_json, account_id, region_name):
        cloudwatch_backends[account_id][region_name].delete_alarms([resource_name])


def update_queue(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    properties = {k: v for k, v in cloudformation_json["Properties"].items() if k not in ("QueueName", "FifoQueue", "Tags")}
    return sqs_backends[account_id][region_name].set_queue_attributes(original_resource.name, properties)


def parse_change_set(change_set):
    template = cloudformation.Stack.parse_template(change_set.template)
    change_set.template_dict = expanded(template, change_set.parameters)


def has_template(stack, other):
    return stack.template_dict == expanded(cloudformation.Stack.parse_template(other), stack.parameters)


plain_resolve = parsing.parse_resource_and_generate_name


def resolve(logical_id, resource_json, resources_map):
    """Keeps what a resource's properties have come to."""
    resolved = plain_resolve(logical_id, resource_json, resources_map)
    if resolved:
        line = {"Stack": resources_map["AWS::StackName"], "Resource": logical_id, "Properties": resolved[1]["Properties"]}
        with open(sys.argv[2], "a") as f:
            f.write(json.dumps(line) + "\n")
    return resolved


cloudformation.ChangeSet._parse_template = parse_change_set
cloudformation.ChangeSet.apply = apply
cloudformation.Stack.has_template = has_template
parsing.parse_resource_and_generate_name = resolve
parsing.ResourceMap.load_mapping = load_mapping
parsing.ResourceMap.build_resource_diff = build_resource_diff
Queue.update_from_cloudformation_json = classmethod(update_queue)

if __name__ == "__main__":
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
