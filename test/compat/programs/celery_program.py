"""Celery with kombu's transport for SQS, as consumer in ../clients.go explains."""

import os
import sys
import threading
import time

from celery import Celery, signals

OUT = os.dup(1)  # Celery prints as well:
os.dup2(2, 1)  # let that be with its log
QUEUE_URL = os.environ["QUEUE_URL"]
QUEUE = QUEUE_URL.rsplit("/", 1)[1]
FIFO = QUEUE.endswith(".fifo")

app = Celery("program", broker=os.environ["AWS_ENDPOINT_URL_SQS"].replace("http://", "sqs://"))
app.conf.update(
    task_default_queue=QUEUE,
    task_ignore_result=True,
    # What fails stays in the queue, and comes back after a second.
    task_acks_late=True,
    task_acks_on_failure_or_timeout=False,
    worker_enable_remote_control=False,
    # One at a time keeps the order of groups.
    worker_concurrency=1 if FIFO else 2,
    worker_prefetch_multiplier=1 if FIFO else 4,
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "wait_time_seconds": 2,
        # Also between looks for a free place.
        "polling_interval": 0.1,
        "fetch_message_attributes": {
            "MessageSystemAttributeNames": ["ApproximateReceiveCount", "MessageGroupId"],
            "MessageAttributeNames": ["number", "note"],
        },
        "predefined_queues": {
            QUEUE: {
                "url": QUEUE_URL,
                "access_key_id": "any",
                "secret_access_key": "any",
                "backoff_policy": {1: 1, 2: 1, 3: 1},
                "backoff_tasks": ["handle"],
            }
        },
    },
)


@app.task(name="handle", bind=True)
def handle(self, body):
    n, _, fails, millis = body.split(" ")
    message = self.request.properties["delivery_info"]["sqs_message"]
    receives = message["Attributes"]["ApproximateReceiveCount"]
    attributes = message["MessageAttributes"]

    def say(what):
        line = [what, n, receives, message["Attributes"].get("MessageGroupId", "-"),
                attributes["number"]["StringValue"], attributes["note"]["StringValue"]]
        write("\t".join(line))

    say("started")
    time.sleep(int(millis) / 1000)
    if int(receives) <= int(fails):
        say("failed")
        raise RuntimeError("as planned")
    say("done")


def write(line):
    os.write(OUT, (line + "\n").encode())  # whole, whichever process writes


def send():
    for body in map(str.strip, sys.stdin):
        if not body:
            write("sent")
            continue
        n, group, _, _ = body.split(" ")
        properties = {"MessageGroupId": group, "MessageDeduplicationId": n} if FIFO else {}
        handle.apply_async(
            (body,),
            message_attributes={
                "number": {"DataType": "Number", "StringValue": n},
                "note": {"DataType": "String", "StringValue": os.environ["NOTE"]},
            },
            **properties,
        )


@signals.worker_ready.connect
def ready(**_):
    threading.Thread(target=send, daemon=True).start()


# Threads: with processes and a prefetch of one, some workers missed the result
# of the task that ran at SIGTERM, and hung.
app.worker_main(["worker", "--pool=threads", "--loglevel=warning", "--without-gossip", "--without-mingle", "--without-heartbeat"])
