"""Speaks to the SQS emulator with boto3, as a program would.

    AWS_ENDPOINT_URL_SQS=http://127.0.0.1:9324 AWS_DEFAULT_REGION=us-east-1 \\
    AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x SQSBATCH=./sqsbatch \\
    python test/compat/programs/boto3_steps.py

The server must have no queues yet. Each step is a function that is named after
what it shows. A step that fails prints what was expected and what came, and
makes the exit status 1. Runs with any boto3 since 1.26, whichever protocol
that speaks.
"""

import sys

import check
import deadletters
import messages
import queues

sys.exit(1 if check.run(messages.STEPS + queues.STEPS + deadletters.STEPS) else 0)
