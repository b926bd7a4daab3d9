"""`sqsbatch dlq` with messages that boto3 sent: each verb keeps every byte of them.

The variable SQSBATCH names the program.
"""

import collections
import json
import os
import subprocess
import tempfile

from check import arn, equal, queue, receive, sqs

KINDS = {"standard queues": "", "FIFO queues": ".fifo"}


def dlq(*arguments, status=0):
    """Runs `sqsbatch dlq`, and returns what it prints."""
    with tempfile.TemporaryDirectory() as state:
        ran = subprocess.run(
            [os.environ["SQSBATCH"], "dlq", *arguments, "--endpoint-url", os.environ["AWS_ENDPOINT_URL_SQS"]],
            env={**os.environ, "XDG_STATE_HOME": state}, capture_output=True, timeout=60,
        )
    text = ran.stdout.decode() + ran.stderr.decode()
    assert ran.returncode == status, f"{arguments[0]}: exit status {ran.returncode}, expected {status}: {text[-2000:]}"
    return ran.stdout.decode()


def letters():
    """The parameters of send_message, without those of the queue."""

    def attribute(type, value):
        return {"DataType": type, "BinaryValue" if type.startswith("Binary") else "StringValue": value}

    every_byte = bytes(range(256))
    origin = {"v": 1, "reason": "no such customer: 17", "messageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
              "attempts": 3, "firstReceived": "2026-11-23T20:00:00Z", "failedAt": "2026-11-23T21:00:00Z"}  # fmt: skip
    yield {"MessageBody": "plain"}
    yield {"MessageBody": '{"id": 12345678901234567890, "price": 1.50, "id": 1, "html": "<a>&\\u00e9"} \r\n'}
    yield {"MessageBody": "\t\n\r \x7f é 🙂 \u2028 \ud7ff \ue000 \ufffd \U0010ffff \"\\/'"}
    yield {"MessageBody": "every type", "MessageAttributes": {
        "String": attribute("String", "é 🙂 <&> \t\r\n \u2028"),
        "String.json": attribute("String.json", '{"a": [1, 2.0]}'),
        "Number": attribute("Number", "-1.50"),
        "Number.float": attribute("Number.float", "1E+2"),
        "Number.long": attribute("Number.long", "12345678901234567890123456789012345678"),
        "Binary": attribute("Binary", every_byte),
        "Binary.png": attribute("Binary.png", b"\x89PNG\r\n\x1a\n\0"),
        "Binary.one": attribute("Binary.my label", b"\xff"),
    }}  # fmt: skip
    yield {"MessageBody": "ten attributes", "MessageAttributes": {f"a-{n}.b_{n}": attribute("String", str(n)) for n in range(10)}}
    yield {"MessageBody": "x" * (1 << 20)}
    yield {"MessageBody": "é" * ((1 << 19) - 512), "MessageAttributes": {"half": attribute("Binary", every_byte * 2)}}
    yield {"MessageBody": "traced", "MessageSystemAttributes": {
        "AWSTraceHeader": attribute("String", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"),
    }}  # fmt: skip
    yield {"MessageBody": '{"customer": 17}', "MessageAttributes": {
        "sqsbatch": attribute("String", json.dumps(origin)), "blob": attribute("Binary", every_byte),
    }}  # fmt: skip


def send(url, fifo):
    """Sends all letters, and returns the ids."""
    ids = []
    for n, letter in enumerate(letters()):
        if fifo:
            letter = {**letter, "MessageGroupId": f"group!{n % 4}~", "MessageDeduplicationId": f"dedup#{n}"}
        ids.append(sqs.send_message(QueueUrl=url, **letter)["MessageId"])
    return ids


Content = collections.namedtuple("Content", "body attributes trace group")


def content(message):
    system = message["Attributes"]
    return Content(message["Body"], message.get("MessageAttributes", {}), system.get("AWSTraceHeader"), system.get("MessageGroupId"))


def drain(url):
    """Receives and deletes everything that is visible."""
    got = []
    while messages := receive(url):
        got += messages
        for m in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
    return got


def same(what, got, want):
    """Compares contents, in any order, and names what differs."""
    got, want = ({c.body: c for c in map(content, side)} for side in (got, want))
    short = [{body[:40]: len(body) for body in side} for side in (got, want)]
    equal(what, *short)
    for body, c in want.items():
        for field in Content._fields[1:]:
            equal(f"{what}: {field} of {body[:40]!r}", getattr(got[body], field), getattr(c, field))


def scene(verb, kind):
    """A dead-letter queue with all letters, its source, another queue, and the letters as they come."""
    suffix = KINDS[kind]
    name = f"{verb}-dead{suffix}"
    dead = queue(name)
    policy = json.dumps({"deadLetterTargetArn": arn(dead), "maxReceiveCount": 3})
    source = queue(f"{verb}-orders{suffix}", RedrivePolicy=policy)
    other = queue(f"{verb}-other{suffix}")
    copy = queue(f"{verb}-copy{suffix}")
    send(copy, suffix)
    ids = send(dead, suffix)
    return name, dead, source, other, drain(copy), ids


def exported_and_imported():
    for kind, suffix in KINDS.items():
        name, dead, _, other, want, _ = scene("export", kind)
        with tempfile.TemporaryDirectory() as folder:
            for file in "dead.ndjson", "dead.ndjson.gz":
                path = os.path.join(folder, file)
                dlq("export", name, "--file", path)
                other = queue(f"import-{file.replace('.', '-')}{suffix}")
                dlq("import", other, path, "--yes")
                got = drain(other)
                same(f"imported, {kind}", got, want)
                if suffix:
                    ids = [sorted(m["Attributes"]["MessageDeduplicationId"] for m in side) for side in (got, want)]
                    equal("deduplication ids", *ids)
        same(f"exported, {kind}", drain(dead), want)


def replayed():
    for kind in KINDS:
        name, dead, source, _, want, _ = scene("replay", kind)
        dlq("replay", name, "--by", "send", "--yes")
        for m in want:
            m.get("MessageAttributes", {}).pop("sqsbatch", None)
        same(f"replayed, {kind}", drain(source), want)
        equal("left", drain(dead), [])


def moved_by_sending_and_by_a_task():
    for kind in KINDS:
        for by in "send", "task":
            name, dead, _, other, want, _ = scene(f"move-{by}", kind)
            dlq("move", name, "--to", other, "--by", by, "--yes")
            same(f"moved by {by}, {kind}", drain(other), want)
            equal("left", drain(dead), [])


def deleted_by_id():
    for kind in KINDS:
        name, dead, _, _, want, ids = scene("delete", kind)
        # On a FIFO queue the first of each group, so that all of them are seen.
        chosen = ids[:4]
        dlq("delete", name, *(f"--id={id}" for id in chosen), "--yes")
        first = {letter["MessageBody"] for _, letter in zip(chosen, letters())}
        same(f"deleted by id, {kind}", drain(dead), [m for m in want if m["Body"] not in first])


def selected_by_attributes():
    name, dead, source, _, want, _ = scene("select", "standard queues")
    dlq("replay", name, "--where", '.attributes["Number"] == -1.5 and .attributes["String.json"] != null', "--yes")
    same("selected", drain(source), [m for m in want if m["Body"] == "every type"])
    same("left", drain(dead), [m for m in want if m["Body"] != "every type"])


def stats_and_show_have_all_of_them():
    for kind in KINDS:
        name, dead, _, _, want, ids = scene("look", kind)
        for output in "text", "json":
            stats = dlq("stats", name, "--output", output)
            assert "no such customer" in stats, f"stats: {stats}"
            shown = dlq("show", name, "--limit", "100", "--output", output)
            for id in ids:
                assert id in shown, f"{id} is not shown: {shown[:2000]}"
            if output == "text":
                equal("control characters", [c for c in stats + shown if c < " " and c != "\n" or c == "\x7f"], [])
        same(f"after a look, {kind}", drain(dead), want)


STEPS = [
    exported_and_imported,
    replayed,
    moved_by_sending_and_by_a_task,
    deleted_by_id,
    selected_by_attributes,
    stats_and_show_have_all_of_them,
]
