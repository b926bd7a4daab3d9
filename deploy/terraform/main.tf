# The resources of template.yaml in the root, for Terraform and OpenTofu. A test compares the two setting by setting. How to use the
# module, and what its changes do: docs/deploying/terraform.md.

locals {
  suffix = var.fifo ? ".fifo" : ""
  # Of the queue's ARN, arn:PARTITION:sqs:REGION:ACCOUNT:NAME. A data source would be read anew with each change of the
  # queue, and its plan would have all policies as not known.
  partition = split(":", aws_sqs_queue.queue.arn)[1]
  region    = split(":", aws_sqs_queue.queue.arn)[3]
  account   = split(":", aws_sqs_queue.queue.arn)[4]
}

resource "aws_sqs_queue" "queue" {
  name                        = "${var.name}${local.suffix}"
  fifo_queue                  = var.fifo
  content_based_deduplication = var.fifo
  # AWS recommends 6 x the function's timeout + the batch window: time to retry a throttled invocation before SQS shows
  # the records to other consumers.
  visibility_timeout_seconds = 6 * var.function_timeout + var.batch_window
  message_retention_seconds  = 345600 # 4 days: how long the function may be stopped before messages are lost
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letter_queue.arn
    maxReceiveCount     = var.max_receive_count
  })
  sqs_managed_sse_enabled           = var.kms_key_arn == "" ? true : null # with SQS's own keys, which need no permission
  kms_master_key_id                 = var.kms_key_arn == "" ? null : var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == "" ? null : 3600 # fewer calls to KMS
  tags                              = var.tags

  lifecycle {
    prevent_destroy = true # a new queue, and the end of one, lose the messages
  }
}

resource "aws_sqs_queue" "dead_letter_queue" {
  name                        = "${var.name}-dead${local.suffix}"
  fifo_queue                  = var.fifo
  content_based_deduplication = var.fifo
  # 14 days, SQS's maximum. On a standard queue a message's age counts from when it was first sent, so this must be much
  # longer than the source's retention, or a dead letter may expire on arrival.
  message_retention_seconds         = 1209600
  sqs_managed_sse_enabled           = var.kms_key_arn == "" ? true : null
  kms_master_key_id                 = var.kms_key_arn == "" ? null : var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == "" ? null : 3600
  tags                              = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_sqs_queue_redrive_allow_policy" "dead_letter_queue" {
  queue_url = aws_sqs_queue.dead_letter_queue.url
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.queue.arn]
  })
}

# SQS takes requests over plain HTTP as well, unless a policy denies them. This policy allows nothing: who may use the
# queues is said by roles.
locals {
  tls_only = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TLSOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "sqs:*"
      Resource  = [aws_sqs_queue.queue.arn, aws_sqs_queue.dead_letter_queue.arn]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_sqs_queue_policy" "queue" {
  queue_url = aws_sqs_queue.queue.url
  policy    = local.tls_only
}

resource "aws_sqs_queue_policy" "dead_letter_queue" {
  queue_url = aws_sqs_queue.dead_letter_queue.url
  policy    = local.tls_only
}

resource "aws_lambda_function" "function" {
  function_name    = var.name
  filename         = var.filename
  source_code_hash = filebase64sha256(var.filename)
  handler          = "bootstrap"       # the name of the binary that this runtime starts
  runtime          = "provided.al2023" # Lambda has no runtime of its own for Go
  architectures    = [var.architecture]
  timeout          = var.function_timeout
  memory_size      = var.memory_size
  role             = aws_iam_role.function.arn
  tags             = var.tags

  logging_config {
    log_format            = "JSON"
    application_log_level = var.log_level
    log_group             = aws_cloudwatch_log_group.function.name
  }

  environment {
    variables = merge({
      # Both could be read from the queue's redrive policy. Set here, they need no call and no permission.
      SQSBATCH_DEAD_LETTER_QUEUE = aws_sqs_queue.dead_letter_queue.arn
      SQSBATCH_MAX_RECEIVE_COUNT = var.max_receive_count
    }, var.environment)
  }
}

resource "aws_lambda_event_source_mapping" "queue" {
  event_source_arn                   = aws_sqs_queue.queue.arn
  function_name                      = aws_lambda_function.function.arn
  enabled                            = var.enabled
  batch_size                         = var.batch_size
  maximum_batching_window_in_seconds = var.fifo ? null : var.batch_window
  function_response_types            = ["ReportBatchItemFailures"]
  tags                               = var.tags

  scaling_config {
    maximum_concurrency = var.maximum_concurrency
  }

  metrics_config { # messages that the mapping polled, filtered, invoked and deleted
    metrics = ["EventCount"]
  }

  # Lambda makes a mapping only if the role may receive.
  depends_on = [aws_iam_role_policy.function, aws_iam_role_policy.more]

  lifecycle {
    # Lambda's limits ("Creating and configuring an Amazon SQS event source mapping"), checked before anything is created.
    precondition {
      condition     = var.batch_size <= 10 || var.batch_window >= 1
      error_message = "A batch_size above 10 needs a batch_window of at least 1."
    }
    precondition {
      condition     = var.batch_size <= 10 || !var.fifo
      error_message = "On a FIFO queue batch_size is at most 10."
    }
  }
}

resource "aws_iam_role" "function" {
  name = var.name
  tags = var.tags
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { # only for functions and mappings of this account
        StringEquals = { "aws:SourceAccount" = local.account }
        ArnLike      = { "aws:SourceArn" = "arn:${local.partition}:lambda:${local.region}:${local.account}:*" }
      }
    }]
  })
}

resource "aws_iam_role_policy" "function" {
  name = "queue"
  role = aws_iam_role.function.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      {
        Sid      = "EventSourceMapping" # Lambda's pollers use the function's role
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        Resource = aws_sqs_queue.queue.arn
      },
      {
        Sid      = "Backoff"
        Effect   = "Allow"
        Action   = ["sqs:ChangeMessageVisibility"]
        Resource = aws_sqs_queue.queue.arn
      },
      {
        Sid      = "DeadLetter"
        Effect   = "Allow"
        Action   = ["sqs:SendMessage"]
        Resource = aws_sqs_queue.dead_letter_queue.arn
      },
      {
        Sid      = "Logs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.function.arn}:*"
      },
      ], var.kms_key_arn == "" ? [] : [{
        Sid      = "Key"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = var.kms_key_arn
    }])
  })
}

resource "aws_iam_role_policy" "more" {
  for_each = var.policies
  name     = each.key
  role     = aws_iam_role.function.name
  policy   = each.value
}

resource "aws_cloudwatch_log_group" "function" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = 30
  tags              = var.tags
}

# For the metrics and their limits see "Available CloudWatch metrics for Amazon SQS". SQS reports once a minute.
#
# A single dead letter is worth a page. The alarm lasts until the queue is empty. It uses the visible messages, since a
# redrive has received the others, and not NumberOfMessagesSent, which does not count messages that SQS itself moves here.
resource "aws_cloudwatch_metric_alarm" "dead_letters" {
  alarm_name          = "${var.name}-dead-letters"
  alarm_description   = "Messages wait in the dead-letter queue. https://github.com/sqsbatch/sqsbatch/blob/main/docs/runbooks/dead-letters.md"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.dead_letter_queue.name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  # SQS stops reporting on a queue that is empty and unused for six hours, which is no problem. The first dead letter
  # after that may be reported up to 15 minutes late.
  treat_missing_data = "notBreaching"
  alarm_actions      = compact([var.alarm_topic_arn])
  tags               = var.tags
}

# Fires when consumers are too slow, and when none run. It needs three minutes of five, so that one slow batch does not
# page. On a standard queue SQS does not count a message that was received three times: the other alarm is for those. On a
# FIFO queue SQS counts it, so the threshold is above the time for which a failing record is retried.
resource "aws_cloudwatch_metric_alarm" "oldest_message" {
  alarm_name          = "${var.name}-oldest-message"
  alarm_description   = "Messages wait too long. The function is too slow or keeps failing. https://github.com/sqsbatch/sqsbatch/blob/main/docs/runbooks/oldest-message.md"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.queue.name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.oldest_message_seconds
  treat_missing_data  = "notBreaching" # SQS reports nothing if no message waits
  alarm_actions       = compact([var.alarm_topic_arn])
  tags                = var.tags
}
