"""One invocation of a function with the idempotency of Powertools for Python.

    python powertools.py MILLISECONDS BODY    the invocation has so much time left

The function, once it is called, prints {"event": "began"} and waits for a line of
standard input: "return" or "fail". The last line that the program prints is
{"event": "ended"} with the result, or with the name of the exception.
"""

import json
import sys

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function


class Context:
    """What Powertools needs of Lambda's context."""

    def get_remaining_time_in_millis(self):
        return int(sys.argv[1])


def say(**line):
    print(json.dumps(line), flush=True)


def ship(order):
    say(event="began")
    if sys.stdin.readline() == "fail\n":
        raise RuntimeError("told to fail")
    return {"shipped": order["orderId"]}


# As in docs/idempotency.md, where lambda_handler registers Lambda's own context:

store = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="orderId", raise_on_no_idempotency_key=True)


@idempotent_function(data_keyword_argument="order", persistence_store=store, config=config, key_prefix="ship-order")
def ship_order(order):
    return ship(order)


if __name__ == "__main__":
    config.register_lambda_context(Context())
    try:
        say(event="ended", result=ship_order(order=json.loads(sys.argv[2])))
    except Exception as e:
        say(event="ended", error=type(e).__name__)
