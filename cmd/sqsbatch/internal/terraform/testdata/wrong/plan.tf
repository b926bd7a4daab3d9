# The plan of this is cases/real_wrong.json. Each mistake is named by its rule.
provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

locals { sqs = "arn:aws:sqs:eu-west-1:123456789012" }

# SB106: the visibility timeout is no longer than the function's.
# SB202: two receives. SB212: everyone may receive. SB214: no encryption.
resource "aws_sqs_queue" "orders" {
  name                       = "orders"
  visibility_timeout_seconds = 60
  sqs_managed_sse_enabled    = false
  redrive_policy             = jsonencode({ deadLetterTargetArn = "${local.sqs}:orders-dlq", maxReceiveCount = 2 })
  policy = jsonencode({ Statement = [{
    Effect    = "Allow", Principal = "*", Action = "sqs:*", Resource = "${local.sqs}:orders"
    Condition = { "ForAllValues:StringEquals" = { "aws:PrincipalOrgPaths" = ["o-1/r-1/"] } }
  }] })
}

# SB204: four days. SB205: it takes no dead letters.
resource "aws_sqs_queue" "dlq" {
  name                 = "orders-dlq"
  redrive_allow_policy = jsonencode({ redrivePermission = "denyAll" })
}

# SB105, SB201: no dead-letter queue. SB306: the key is for callers of the account, and SNS is none.
resource "aws_sqs_queue" "audit" {
  name                       = "audit"
  visibility_timeout_seconds = 5
  kms_master_key_id          = aws_kms_key.audit.arn
}

resource "aws_kms_key" "audit" {
  policy = jsonencode({ Statement = [
    { Effect = "Allow", Principal = { AWS = "arn:aws:iam::123456789012:root" }, Action = "kms:*", Resource = "*" },
    { Effect = "Allow", Principal = { AWS = "*" }, Action = ["kms:Decrypt", "kms:GenerateDataKey*"], Resource = "*"
    Condition = { StringEquals = { "kms:CallerAccount" = "123456789012", "kms:ViaService" = "sqs.eu-west-1.amazonaws.com" } } },
  ] })
}

resource "aws_sns_topic" "orders" { name = "orders" }
resource "aws_sns_topic" "returns" { name = "returns" }

resource "aws_sns_topic_subscription" "audit" {
  topic_arn = aws_sns_topic.orders.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.audit.arn
}

# SB219: another topic may send.
resource "aws_sqs_queue_policy" "audit" {
  queue_url = aws_sqs_queue.audit.id
  policy    = data.aws_iam_policy_document.audit.json
}

data "aws_iam_policy_document" "audit" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.audit.arn]
    principals {
      type        = "Service"
      identifiers = ["sns.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_sns_topic.returns.arn]
    }
  }
}

# SB203: a FIFO queue with a standard dead-letter queue.
resource "aws_sqs_queue" "fifo" {
  name                      = "ship.fifo"
  fifo_queue                = true
  receive_wait_time_seconds = 20
  redrive_policy            = jsonencode({ deadLetterTargetArn = "${local.sqs}:orders-dlq", maxReceiveCount = 5 })
}

resource "aws_iam_role" "ship" {
  name               = "ship"
  assume_role_policy = jsonencode({ Statement = [{ Effect = "Allow", Principal = { Service = "ecs-tasks.amazonaws.com" }, Action = "sts:AssumeRole" }] })
}

# SB301, SB302, SB303: what is missing. SB305: too much.
resource "aws_iam_role_policy" "ship" {
  role   = aws_iam_role.ship.id
  policy = jsonencode({ Statement = [{ Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:PurgeQueue"], Resource = "*" }] })
}

resource "aws_lambda_function" "ship" {
  function_name = "ship"
  filename      = "none.zip"
  handler       = "bootstrap"
  runtime       = "provided.al2023"
  timeout       = 30
  role          = aws_iam_role.ship.arn
}

# SB101, SB102.
resource "aws_lambda_event_source_mapping" "orders" {
  event_source_arn = aws_sqs_queue.orders.arn
  function_name    = aws_lambda_function.ship.arn
  batch_size       = 100
}

resource "aws_lambda_event_source_mapping" "audit" {
  event_source_arn        = aws_sqs_queue.audit.arn
  function_name           = aws_lambda_function.ship.arn
  function_response_types = ["ReportBatchItemFailures"]
}
