"""Prints what there is of a stack, as the services' own APIs answer, in JSON.

    python describe.py STACK

{} when there is no such stack. With no STACK, what is left of any.
"""

import json
import sys

import boto3
from botocore.exceptions import ClientError


def queues(ids):
    client = boto3.client("sqs")
    for name, url in ids("AWS::SQS::Queue"):
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        if "RedrivePolicy" in attributes:
            policy = json.loads(attributes["RedrivePolicy"])
            attributes["RedrivePolicy"] = {key: str(value) for key, value in policy.items()}
        yield name, attributes


def alarms(ids):
    client = boto3.client("cloudwatch")
    for name, alarm in ids("AWS::CloudWatch::Alarm"):
        (found,) = client.describe_alarms(AlarmNames=[alarm])["MetricAlarms"]
        yield name, found


def functions(ids):
    client = boto3.client("lambda")
    for name, function in ids("AWS::Lambda::Function"):
        found = client.get_function(FunctionName=function)["Configuration"]
        variables = found["Environment"]["Variables"]
        found["Environment"]["Variables"] = {key: str(value) for key, value in variables.items()}
        yield name, found


def mappings(ids):
    client = boto3.client("lambda")
    for name, uuid in ids("AWS::Lambda::EventSourceMapping"):
        yield name, client.get_event_source_mapping(UUID=uuid)


def roles(ids):
    client = boto3.client("iam")
    for name, role in ids("AWS::IAM::Role"):
        found = client.get_role(RoleName=role)["Role"]
        inline = client.list_role_policies(RoleName=role)["PolicyNames"]
        attached = client.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
        yield name, {
            "Trust": found["AssumeRolePolicyDocument"],
            "Policies": len(inline),
            "Attached": [p["PolicyArn"] for p in attached],
        }


def logs(ids):
    client = boto3.client("logs")
    for name, group in ids("AWS::Logs::LogGroup"):
        (found,) = client.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        yield name, found


def describe(stack):
    client = boto3.client("cloudformation")
    try:
        (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as e:
        if "does not exist" in str(e):
            return {}
        raise
    resources = client.describe_stack_resources(StackName=stack)["StackResources"]

    def ids(kind):
        return [(r["LogicalResourceId"], r["PhysicalResourceId"]) for r in resources if r.get("ResourceType") == kind]

    return {
        "Status": found["StackStatus"],
        "Parameters": {p["ParameterKey"]: str(p["ParameterValue"]) for p in found.get("Parameters", [])},
        "Outputs": {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])},
        "Queues": dict(queues(ids)),
        "Alarms": dict(alarms(ids)),
        "Functions": dict(functions(ids)),
        "Mappings": dict(mappings(ids)),
        "Roles": dict(roles(ids)),
        "Logs": dict(logs(ids)),
    }


def left():
    """What is there in the account, whichever stack it was of."""
    return {
        "Queues": boto3.client("sqs").list_queues().get("QueueUrls", []),
        "Alarms": [a["AlarmName"] for a in boto3.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "Functions": [f["FunctionName"] for f in boto3.client("lambda").list_functions()["Functions"]],
        "Mappings": [m["UUID"] for m in boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"]],
        "Roles": [r["RoleName"] for r in boto3.client("iam").list_roles()["Roles"]],
        "Logs": [g["logGroupName"] for g in boto3.client("logs").describe_log_groups()["logGroups"]],
    }


print(json.dumps(describe(sys.argv[1]) if len(sys.argv) > 1 else left(), default=str))
