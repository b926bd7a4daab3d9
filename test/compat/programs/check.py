"""What every step needs: the client, short calls, and words for what differs."""

import os
import sys
import time
import traceback

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

sqs = boto3.client(
    "sqs",
    endpoint_url=os.environ["AWS_ENDPOINT_URL_SQS"],  # older versions do not look for it
    config=Config(retries={"total_max_attempts": 1}),
)
# Older models have only AttributeNames for it.
SYSTEM_ATTRIBUTES = (
    "MessageSystemAttributeNames"
    if "MessageSystemAttributeNames" in sqs.meta.service_model.operation_model("ReceiveMessage").input_shape.members
    else "AttributeNames"
)


def equal(what, got, want):
    assert got == want, f"{what}:\n    expected {want!r}\n    came     {got!r}"


def refused(exception, call, **parameters):
    """Calls, and checks that it fails with the typed exception."""
    wanted = getattr(sqs.exceptions, exception) if isinstance(exception, str) else exception
    try:
        answer = call(**parameters)
    except wanted as error:
        assert error.response["Error"]["Message"], f"{exception} has no message"
        return error.response
    except ClientError as error:
        raise AssertionError(f"{call.__name__}:\n    expected {exception}\n    came     {type(error).__name__}: {error}")
    raise AssertionError(f"{call.__name__}:\n    expected {exception}\n    came     {answer}")


def queue(name, **attributes):
    if name.endswith(".fifo"):
        attributes["FifoQueue"] = "true"
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def arn(url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def receive(url, count=10, **parameters):
    parameters[SYSTEM_ATTRIBUTES] = ["All"]
    return sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=count, MessageAttributeNames=["All"], **parameters
    ).get("Messages", [])


def bodies(messages):
    return [m["Body"] for m in messages]


def run(steps):
    """Runs each step, even if an earlier one failed, and returns how many failed."""
    failed = 0
    for step in steps:
        begin = time.monotonic()
        name = step.__name__.replace("_", " ")
        try:
            step()
        except Exception as error:
            failed += 1
            line = traceback.extract_tb(error.__traceback__)[1].lineno
            print(f"FAILED  {name}\n  line {line} of {step.__module__}.py: {type(error).__name__}: {error}")
        else:
            print(f"{1000 * (time.monotonic() - begin):6.0f} ms  {name}")
        sys.stdout.flush()
    return failed
