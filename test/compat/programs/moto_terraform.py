"""moto's server, with what it does not keep of the module in deploy/terraform.

    python moto_terraform.py PORT

Terraform's provider reads each setting back and waits until it is there. moto
knows no redrive allow policy, forgets a queue's policy when another attribute
is set, writes redrive policies with blanks, which SQS does not, and does not
keep a function's logging configuration.
"""

import json
import sys

from moto.awslambda.models import LambdaFunction
from moto.server import main
from moto.sqs.models import Queue

Queue.BASE_ATTRIBUTES.append("RedriveAllowPolicy")
Queue.redrive_allow_policy = None

set_attributes = Queue._set_attributes
queue_attributes = Queue.attributes.fget
init_function = LambdaFunction.__init__
get_configuration = LambdaFunction.get_configuration


def set_and_keep(queue, attributes, now=None):
    kept = {"Policy": queue.policy} if getattr(queue, "policy", None) else {}
    set_attributes(queue, kept | attributes, now)


def compact(queue):
    attributes = queue_attributes(queue)
    if queue.redrive_policy:
        attributes["RedrivePolicy"] = json.dumps(queue.redrive_policy, separators=(",", ":"))
    return attributes


def init_with_logging(function, account_id, spec, *args, **kwargs):
    init_function(function, account_id, spec, *args, **kwargs)
    function.logging_config = spec.get("LoggingConfig")


def configuration(function, *args, **kwargs):
    return get_configuration(function, *args, **kwargs) | {"LoggingConfig": function.logging_config}


Queue._set_attributes = set_and_keep
Queue.attributes = property(compact)
LambdaFunction.__init__ = init_with_logging
LambdaFunction.get_configuration = configuration

if __name__ == "__main__":
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
