"""Queues: settings, lists, dead letters, and what is refused by which exception."""

import time

from botocore.exceptions import ClientError

from check import arn, bodies, equal, queue, receive, refused, sqs


def queue_attributes_and_tags():
    url = queue("settings", VisibilityTimeout="45", DelaySeconds="1")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "50", "MaximumMessageSize": "2048"})
    got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    equal("attributes", {k: got[k] for k in ("VisibilityTimeout", "DelaySeconds", "MaximumMessageSize", "ApproximateNumberOfMessages")},
          {"VisibilityTimeout": "50", "DelaySeconds": "1", "MaximumMessageSize": "2048", "ApproximateNumberOfMessages": "0"})
    equal("tags of a queue without", sqs.list_queue_tags(QueueUrl=url).get("Tags", {}), {})
    sqs.tag_queue(QueueUrl=url, Tags={"team": "shipping", "stage": "<dev>"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["team"])
    equal("tags", sqs.list_queue_tags(QueueUrl=url)["Tags"], {"stage": "<dev>"})
    tagged = sqs.create_queue(QueueName="tagged", tags={"a": "b"})["QueueUrl"]
    equal("tags from the start", sqs.list_queue_tags(QueueUrl=tagged)["Tags"], {"a": "b"})


def lists_come_in_pages():
    names = [f"page-{n}" for n in range(5)]
    for name in names:
        queue(name)
    pages = [
        [url.rsplit("/", 1)[1] for url in page["QueueUrls"]]
        for page in sqs.get_paginator("list_queues").paginate(QueueNamePrefix="page-", PaginationConfig={"PageSize": 2})
    ]
    equal("pages", pages, [names[:2], names[2:4], names[4:]])
    equal("no such prefix", sqs.list_queues(QueueNamePrefix="none").get("QueueUrls", []), [])


def permissions_are_kept():
    url = queue("shared")
    sqs.add_permission(QueueUrl=url, Label="partner", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"]
    assert "partner" in policy and "111122223333" in policy, f"Policy: {policy}"
    sqs.remove_permission(QueueUrl=url, Label="partner")
    after = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {})
    assert "partner" not in after.get("Policy", ""), f"Policy: {after}"


def dead_letters_can_be_moved_back():
    dead = queue("dead")
    url = queue("alive", VisibilityTimeout="0")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={
        "RedrivePolicy": '{"deadLetterTargetArn": "%s", "maxReceiveCount": 2}' % arn(dead),
    })
    equal("sources", list(sqs.get_paginator("list_dead_letter_source_queues").paginate(QueueUrl=dead).search("queueUrls[]")), [url])
    sqs.send_message(QueueUrl=url, MessageBody="poison")
    equal("receives", [bodies(receive(url)) for _ in range(3)], [["poison"], ["poison"], []])
    (letter,) = receive(dead, VisibilityTimeout=0)
    equal("source of the dead letter", letter["Attributes"]["DeadLetterQueueSourceArn"], arn(url))

    handle = sqs.start_message_move_task(SourceArn=arn(dead))["TaskHandle"]
    assert handle, "no TaskHandle"
    deadline = time.monotonic() + 20
    while True:
        (task,) = sqs.list_message_move_tasks(SourceArn=arn(dead))["Results"]
        if task["Status"] == "COMPLETED":
            break
        assert time.monotonic() < deadline, f"the task did not complete: {task}"
        time.sleep(0.05)
    equal("moved", (task["ApproximateNumberOfMessagesMoved"], task["SourceArn"]), (1, arn(dead)))
    equal("back in its source", bodies(receive(url, WaitTimeSeconds=5)), ["poison"])
    refused(ClientError, sqs.cancel_message_move_task, TaskHandle=handle)


def a_purge_and_a_delete_leave_nothing():
    url = queue("emptied")
    sqs.send_message(QueueUrl=url, MessageBody="m")
    sqs.purge_queue(QueueUrl=url)
    equal("after the purge", receive(url), [])
    refused("PurgeQueueInProgress", sqs.purge_queue, QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)
    refused("QueueDoesNotExist", sqs.send_message, QueueUrl=url, MessageBody="m")
    refused("QueueDeletedRecently", sqs.create_queue, QueueName="emptied")


def errors_are_typed_exceptions():
    url = queue("errors", VisibilityTimeout="30")
    fifo = queue("errors.fifo")
    sqs.send_message(QueueUrl=fifo, MessageBody="m", MessageGroupId="g", MessageDeduplicationId="d")
    (message,) = receive(fifo)
    released = {"QueueUrl": fifo, "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
    sqs.change_message_visibility(**released)
    entry = {"Id": "a", "MessageBody": "m"}
    response = refused("QueueDoesNotExist", sqs.get_queue_url, QueueName="nowhere")
    equal("status", response["ResponseMetadata"]["HTTPStatusCode"], 400)
    equal("code", response["Error"]["Code"], "AWS.SimpleQueueService.NonExistentQueue")
    refused("QueueNameExists", sqs.create_queue, QueueName="errors", Attributes={"VisibilityTimeout": "31"})
    refused("ReceiptHandleIsInvalid", sqs.delete_message, QueueUrl=url, ReceiptHandle="x")
    refused("MessageNotInflight", sqs.change_message_visibility, **released)
    refused("InvalidMessageContents", sqs.send_message, QueueUrl=url, MessageBody="\ufffe")
    refused("InvalidAttributeName", sqs.set_queue_attributes, QueueUrl=url, Attributes={"Colour": "red"})
    refused("EmptyBatchRequest", sqs.send_message_batch, QueueUrl=url, Entries=[])
    refused("BatchEntryIdsNotDistinct", sqs.send_message_batch, QueueUrl=url, Entries=[entry, entry])
    refused("InvalidBatchEntryId", sqs.send_message_batch, QueueUrl=url, Entries=[{"Id": "a b", "MessageBody": "m"}])
    refused("TooManyEntriesInBatchRequest", sqs.send_message_batch, QueueUrl=url,
            Entries=[{"Id": str(n), "MessageBody": "m"} for n in range(11)])
    response = refused(ClientError, sqs.receive_message, QueueUrl=url, MaxNumberOfMessages=11)
    equal("code", response["Error"]["Code"], "InvalidParameterValue")


STEPS = [
    queue_attributes_and_tags,
    lists_come_in_pages,
    permissions_are_kept,
    dead_letters_can_be_moved_back,
    a_purge_and_a_delete_leave_nothing,
    errors_are_typed_exceptions,
]
