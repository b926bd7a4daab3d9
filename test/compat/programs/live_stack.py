"""A stack with six mistakes, for `sqsbatch lint --live`.

    python live_stack.py ENDPOINT

The queue orders has a function, and settings that lose messages. The queue good has none of the
mistakes; it is encrypted with a key, gets messages of a topic, and an alias of its function polls it.
Lambda of moto makes functions without Docker as long as none is invoked.
"""

import io
import json
import sys
import zipfile

import boto3

ENDPOINT = sys.argv[1]
REGION = "eu-west-1"


def client(service):
    return boto3.client(
        service, region_name=REGION, endpoint_url=ENDPOINT, aws_access_key_id="test", aws_secret_access_key="test"
    )


sqs, iam, lambda_, cloudwatch = client("sqs"), client("iam"), client("lambda"), client("cloudwatch")
kms, sns, sts = client("kms"), client("sns"), client("sts")


def code():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("bootstrap", "#!/bin/sh\n")
    return out.getvalue()


def queue(name, **attributes):
    url = sqs.create_queue(QueueName=name, Attributes={k: str(v) for k, v in attributes.items()})["QueueUrl"]
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def stack(name, visibility, receives, retention, actions, report, threshold, alias=None):
    dead = queue(name + "-dlq", MessageRetentionPeriod=retention, SqsManagedSseEnabled="true")
    arn = queue(
        name,
        VisibilityTimeout=visibility,
        ReceiveMessageWaitTimeSeconds=20,
        SqsManagedSseEnabled="true",
        RedrivePolicy=json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": receives}),
    )
    role = iam.create_role(
        RoleName=name,
        AssumeRolePolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
                ],
            }
        ),
    )["Role"]["Arn"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": actions, "Resource": arn},
            {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": dead},
        ],
    }
    iam.put_role_policy(RoleName=name, PolicyName="queue", PolicyDocument=json.dumps(policy))
    logs = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": "*"}],
    }
    attached = iam.create_policy(PolicyName=name + "-logs", PolicyDocument=json.dumps(logs))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=name, PolicyArn=attached)
    lambda_.create_function(
        FunctionName=name,
        Runtime="provided.al2023",
        Handler="bootstrap",
        Role=role,
        Code={"ZipFile": code()},
        Timeout=30,
        Environment={"Variables": {"SQSBATCH_OUTAGE": "15m", "DATABASE_PASSWORD": "s3cr3t"}},
    )
    polls = name
    if alias:
        version = lambda_.publish_version(FunctionName=name)["Version"]
        lambda_.create_alias(FunctionName=name, Name=alias, FunctionVersion=version)
        polls = f"{name}:{alias}"  # moto lists a mapping by the name that it was made with
    mapping = {"EventSourceArn": arn, "FunctionName": polls, "BatchSize": 10}
    if report:
        mapping["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
    lambda_.create_event_source_mapping(**mapping)
    alarm = {"Namespace": "AWS/SQS", "Statistic": "Maximum", "Period": 60, "EvaluationPeriods": 1}
    cloudwatch.put_metric_alarm(
        AlarmName=name + "-age",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": name}],
        Threshold=threshold,
        ComparisonOperator="GreaterThanThreshold",
        **alarm,
    )
    cloudwatch.put_metric_alarm(
        AlarmName=name + "-dead",
        MetricName="ApproximateNumberOfMessagesVisible",
        Dimensions=[{"Name": "QueueName", "Value": name + "-dlq"}],
        Threshold=0,
        ComparisonOperator="GreaterThanThreshold",
        **alarm,
    )
    return arn


def encrypt(name, arn):
    """Encrypts a queue with a key, and lets a topic send to it."""
    root = f"arn:aws:iam::{sts.get_caller_identity()['Account']}:root"
    statements = [
        {"Effect": "Allow", "Principal": {"AWS": root}, "Action": "kms:*", "Resource": "*"},
        {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
            "Resource": "*",
        },
    ]
    key = kms.create_key(Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}))["KeyMetadata"]
    kms.create_alias(AliasName="alias/" + name, TargetKeyId=key["KeyId"])
    decrypt = {"Effect": "Allow", "Action": ["kms:Decrypt", "kms:GenerateDataKey"], "Resource": key["Arn"]}
    iam.put_role_policy(
        RoleName=name, PolicyName="key", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [decrypt]})
    )
    topic = sns.create_topic(Name=name)["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    policy = [
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
        {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        },
    ]
    sqs.set_queue_attributes(
        QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"],
        Attributes={
            "KmsMasterKeyId": "alias/" + name,
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": policy}),
        },
    )


POLL = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
encrypt("good", stack("good", 180, 5, 1209600, POLL + ["sqs:ChangeMessageVisibility"], True, 1800, "live"))
stack("orders", 60, 2, 345600, POLL, False, 300)
