"""Messages: what is sent is what comes, in batches, in order, and when it is waited for."""

import hashlib
import os
import struct
import threading
import time

import boto3
from botocore.exceptions import ClientError

from check import SYSTEM_ATTRIBUTES, bodies, equal, queue, receive, refused, sqs


def attributes_md5(attributes):
    """By the developer guide's "Calculating the MD5 message digest for message attributes"."""
    text = b""
    for name in sorted(attributes):
        value = attributes[name]
        binary = "BinaryValue" in value
        data = value["BinaryValue"] if binary else value["StringValue"].encode()
        for part in (name.encode(), value["DataType"].encode()):
            text += struct.pack(">I", len(part)) + part
        text += (b"\2" if binary else b"\1") + struct.pack(">I", len(data)) + data
    return hashlib.md5(text).hexdigest()


def a_message_with_attributes_comes_back_as_it_was_sent():
    url = queue("messages")
    equal("queue URL", sqs.get_queue_url(QueueName="messages")["QueueUrl"], url)
    body = 'line one\n\t<"two" & é 🙂>\r\n'
    attributes = {
        "text": {"DataType": "String", "StringValue": "a <b> & é"},
        "json": {"DataType": "String.json", "StringValue": '{"a": 1}'},
        "number": {"DataType": "Number", "StringValue": "-1.50"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff\x10"},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-67891233-abcdef012345678912345678"}}
    sent = sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes, MessageSystemAttributes=trace)
    equal("MD5OfMessageBody", sent["MD5OfMessageBody"], hashlib.md5(body.encode()).hexdigest())
    equal("MD5OfMessageAttributes", sent["MD5OfMessageAttributes"], attributes_md5(attributes))
    equal("MD5OfMessageSystemAttributes", sent["MD5OfMessageSystemAttributes"], attributes_md5(trace))

    (message,) = receive(url)
    equal("MessageId", message["MessageId"], sent["MessageId"])
    equal("Body", message["Body"], body)
    equal("MD5OfBody", message["MD5OfBody"], sent["MD5OfMessageBody"])
    equal("MessageAttributes", message["MessageAttributes"], attributes)
    equal("MD5OfMessageAttributes", message["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"])
    equal("AWSTraceHeader", message["Attributes"]["AWSTraceHeader"], trace["AWSTraceHeader"]["StringValue"])
    equal("ApproximateReceiveCount", message["Attributes"]["ApproximateReceiveCount"], "1")
    age = time.time() - int(message["Attributes"]["SentTimestamp"]) / 1000
    assert -1 < age < 60, f"SentTimestamp is {age} s ago"

    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    equal("after the delete", receive(url, VisibilityTimeout=0), [])


def attributes_come_only_when_they_are_asked_for():
    url = queue("unasked")
    attributes = {name: {"DataType": "String", "StringValue": name} for name in ("a.one", "a.two", "b")}
    sqs.send_message(QueueUrl=url, MessageBody="m", MessageAttributes=attributes)
    (plain,) = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
    equal("fields", sorted(plain), ["Body", "MD5OfBody", "MessageId", "ReceiptHandle"])
    (some,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["a.*"], **{SYSTEM_ATTRIBUTES: ["SenderId"]})["Messages"]
    equal("attributes by prefix", sorted(some["MessageAttributes"]), ["a.one", "a.two"])
    equal("system attributes", list(some["Attributes"]), ["SenderId"])


def batches_report_the_entries_that_fail():
    url = queue("batches")
    sent = sqs.send_message_batch(QueueUrl=url, Entries=[
        {"Id": "a", "MessageBody": "first", "MessageAttributes": {"n": {"DataType": "Number", "StringValue": "1"}}},
        {"Id": "b", "MessageBody": "late", "DelaySeconds": 901},
        {"Id": "c", "MessageBody": "third"},
    ])
    equal("sent", [e["Id"] for e in sent["Successful"]], ["a", "c"])
    equal("MD5 of the first", sent["Successful"][0]["MD5OfMessageBody"], hashlib.md5(b"first").hexdigest())
    equal("not sent", [(e["Id"], e["Code"], e["SenderFault"]) for e in sent["Failed"]], [("b", "InvalidParameterValue", True)])

    first, third = receive(url)
    equal("received", bodies([first, third]), ["first", "third"])
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=[
        {"Id": "a", "ReceiptHandle": first["ReceiptHandle"], "VisibilityTimeout": 0},
        {"Id": "b", "ReceiptHandle": third["ReceiptHandle"], "VisibilityTimeout": 43201},
    ])
    equal("changed", [e["Id"] for e in changed["Successful"]], ["a"])
    equal("not changed", [(e["Id"], e["Code"]) for e in changed["Failed"]], [("b", "InvalidParameterValue")])
    (again,) = receive(url)
    equal("visible again", (again["Body"], again["Attributes"]["ApproximateReceiveCount"]), ("first", "2"))

    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=[
        {"Id": "a", "ReceiptHandle": again["ReceiptHandle"]},
        {"Id": "b", "ReceiptHandle": "not a receipt handle"},
        {"Id": "c", "ReceiptHandle": third["ReceiptHandle"]},
    ])
    equal("deleted", [e["Id"] for e in deleted["Successful"]], ["a", "c"])
    equal("not deleted", [(e["Id"], e["Code"]) for e in deleted["Failed"]], [("b", "ReceiptHandleIsInvalid")])


def fifo_keeps_order_and_drops_duplicates():
    url = queue("order.fifo", ContentBasedDeduplication="true")
    sent = [
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group)
        for group, body in (("g", "g1"), ("h", "h1"), ("g", "g2"))
    ]
    numbers = [int(s["SequenceNumber"]) for s in sent]
    equal("sequence numbers", numbers, sorted(set(numbers)))
    again = sqs.send_message(QueueUrl=url, MessageBody="g1", MessageGroupId="g")
    equal("a duplicate", (again["MessageId"], again["SequenceNumber"]), (sent[0]["MessageId"], sent[0]["SequenceNumber"]))
    by_id = [
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="i", MessageDeduplicationId="same")["MessageId"]
        for body in ("i1", "i2")
    ]
    equal("the same deduplication id", by_id[1], by_id[0])

    (first,) = receive(url, count=1)
    equal("first", (first["Body"], first["Attributes"]["MessageGroupId"], first["Attributes"]["SequenceNumber"]),
          ("g1", "g", sent[0]["SequenceNumber"]))
    equal("other groups, while g is locked", bodies(receive(url)), ["h1", "i1"])
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    equal("g, in order", bodies(receive(url)), ["g1", "g2"])


def a_long_poll_ends_when_a_message_comes():
    url = queue("poll")
    begin = time.monotonic()
    equal("nothing within 1 s", receive(url, WaitTimeSeconds=1), [])
    waited = time.monotonic() - begin
    assert waited >= 0.95, f"a wait of 1 s took {waited:.2f} s"
    sender = threading.Timer(0.2, sqs.send_message, kwargs={"QueueUrl": url, "MessageBody": "late"})
    sender.start()
    begin = time.monotonic()
    equal("what came meanwhile", bodies(receive(url, WaitTimeSeconds=20)), ["late"])
    waited = time.monotonic() - begin
    assert waited < 10, f"it came after {waited:.1f} s"
    sender.join()


def a_mebibyte_goes_through():
    url = queue("large")
    body = ("0123456789abcdé" * 70000)[: (1 << 20) - 70000]
    body += "x" * ((1 << 20) - len(body.encode()))
    sqs.send_message(QueueUrl=url, MessageBody=body)
    (message,) = receive(url)
    assert message["Body"] == body, "the body of 1 MiB came back changed"
    response = refused(ClientError, sqs.send_message, QueueUrl=url, MessageBody=body + "x")
    equal("code", response["Error"]["Code"], "InvalidParameterValue")


def resources_work_as_well_as_clients():
    resource = boto3.resource("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL_SQS"])
    q = resource.create_queue(QueueName="objects")
    q.send_messages(Entries=[{"Id": str(n), "MessageBody": str(n)} for n in range(3)])
    equal("ApproximateNumberOfMessages", q.attributes["ApproximateNumberOfMessages"], "3")
    messages = q.receive_messages(MaxNumberOfMessages=10)
    equal("received", [m.body for m in messages], ["0", "1", "2"])
    for m in messages:
        m.delete()
    q.reload()
    equal("left in flight", q.attributes["ApproximateNumberOfMessagesNotVisible"], "0")


STEPS = [
    a_message_with_attributes_comes_back_as_it_was_sent,
    attributes_come_only_when_they_are_asked_for,
    batches_report_the_entries_that_fail,
    fifo_keeps_order_and_drops_duplicates,
    a_long_poll_ends_when_a_message_comes,
    a_mebibyte_goes_through,
    resources_work_as_well_as_clients,
]
