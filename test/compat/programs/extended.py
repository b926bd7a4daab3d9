"""Amazon's SQS Extended Client Library for Python, as a sender and a receiver.

    python extended.py send QUEUE_URL BUCKET     sends what is in MESSAGES below
    python extended.py receive QUEUE_URL BUCKET N  receives N messages and deletes them with their objects

Both print a line of JSON for each message, as its sender had it and as its
receiver got it: the digest of its body, and its message attributes. The endpoints
are in the environment.
"""

import hashlib
import json
import sys

from sqs_extended_client import SQSExtendedClientSession

LARGE = 262_144
KIND = {"kind": {"DataType": "String", "StringValue": "order"}}
# Body, attributes, the first generation's names, always through S3.
MESSAGES = [
    ("small", {}, False, False),
    ("a" * LARGE, {}, False, False),
    ("b" * (LARGE + 1), {}, False, False),
    ("ü" * LARGE, KIND, False, False),
    ("c" * LARGE, KIND, False, False),
    ('{"always": "\U0001f3a9"}', KIND, False, True),
    ("d" * (LARGE + 1), KIND, True, False),
    ('{"legacy": "ñ"}', {}, True, True),
]


def client(bucket):
    sqs = SQSExtendedClientSession().client("sqs")
    sqs.large_payload_support = bucket
    sqs.delete_payload_from_s3 = True
    return sqs


def tell(body, attributes, n):
    plain = {k: v.get("StringValue") for k, v in (attributes or {}).items()}
    digest = hashlib.sha256(body.encode()).hexdigest()
    print(json.dumps({"Digest": digest, "Bytes": len(body.encode()), "Attributes": plain, "N": n}), flush=True)


def send(queue, bucket):
    sqs = client(bucket)
    n = 0
    for body, attributes, legacy, always in MESSAGES:
        sqs.use_legacy_attribute, sqs.always_through_s3 = legacy, always
        tell(body, attributes, n)
        sqs.send_message(QueueUrl=queue, MessageBody=body, MessageAttributes=dict(attributes))
        n += 1
    sqs.use_legacy_attribute, sqs.always_through_s3 = False, False
    entries = [{"Id": str(i), "MessageBody": f"batch {i} " * size} for i, size in enumerate((1, 40_000, 50_000))]
    for entry in entries:
        tell(entry["MessageBody"], {}, n)
        n += 1
    failed = sqs.send_message_batch(QueueUrl=queue, Entries=entries).get("Failed")
    assert not failed, failed


def receive(queue, bucket, count):
    sqs = client(bucket)
    for n in range(count):
        found = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5, MessageAttributeNames=["All"]).get("Messages")
        assert found, f"no message after {n} of {count}"
        for message in found:
            tell(message["Body"], message.get("MessageAttributes"), n)
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*sys.argv[2:])
    else:
        receive(sys.argv[2], sys.argv[3], int(sys.argv[4]))
