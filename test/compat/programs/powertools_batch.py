"""Batches of ten records with Powertools for Python: its batch processor and its idempotency.

    python powertools_batch.py ROUNDS MILLISECONDS    each request takes so much longer

prints a line of JSON: the requests to DynamoDB, and the median of a batch's time in
milliseconds, of new records and of the same records once more.
"""

import json
import statistics
import sys
import time

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

client = boto3.client("dynamodb")
requests = 0


def count(**_):
    global requests
    requests += 1
    time.sleep(int(sys.argv[2]) / 1000)


client.meta.events.register("before-send.dynamodb", count)
store = DynamoDBPersistenceLayer(table_name="idempotency", boto3_client=client)
config = IdempotencyConfig(event_key_jmespath="orderId")
processor = BatchProcessor(event_type=EventType.SQS)


class Context:
    def get_remaining_time_in_millis(self):
        return 60_000


@idempotent_function(data_keyword_argument="order", persistence_store=store, config=config, key_prefix=f"python {sys.argv[2]}")
def ship_order(order):
    return None


def record_handler(record):
    return ship_order(order=record.json_body)


def handle(event):
    """What a batch takes, in milliseconds."""
    config.register_lambda_context(Context())
    began = time.perf_counter()
    answer = process_partial_response(event=event, record_handler=record_handler, processor=processor, context=None)
    took = 1000 * (time.perf_counter() - began)
    if answer["batchItemFailures"]:
        raise RuntimeError(answer)
    return took


def batch(number):
    arn = "arn:aws:sqs:us-east-1:123456789012:orders"
    return {
        "Records": [
            {"messageId": f"{number}-{i}", "body": json.dumps({"orderId": f"{number}-{i}"}), "eventSource": "aws:sqs", "eventSourceARN": arn}
            for i in range(10)
        ]
    }


def measure(events):
    before = requests
    times = [handle(event) for event in events]
    return {"requests": requests - before, "milliseconds": statistics.median(times)}


handle(batch("warm"))
events = [batch(n) for n in range(int(sys.argv[1]))]
print(json.dumps({"new": measure(events), "again": measure(events)}))
