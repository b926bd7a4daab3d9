# The plan of this is cases/real_senders.json.
provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

# A bucket and a rule whose ARNs are not known yet. The policy of returns lets another rule send: SB219.
resource "aws_s3_bucket" "orders" { bucket = "orders" }

resource "aws_s3_bucket_notification" "orders" {
  bucket = aws_s3_bucket.orders.id
  queue {
    queue_arn = aws_sqs_queue.orders.arn
    events    = ["s3:ObjectCreated:*"]
  }
}

resource "aws_cloudwatch_event_rule" "orders" {
  name                = "orders"
  schedule_expression = "rate(1 day)"
}

resource "aws_cloudwatch_event_rule" "audit" {
  name                = "audit"
  schedule_expression = "rate(1 day)"
}

resource "aws_cloudwatch_event_target" "orders" {
  rule = aws_cloudwatch_event_rule.orders.name
  arn  = aws_sqs_queue.orders.arn
}

resource "aws_cloudwatch_event_target" "returns" {
  rule = aws_cloudwatch_event_rule.orders.name
  arn  = aws_sqs_queue.returns.arn
}

resource "aws_sqs_queue" "orders" { name = "orders" }
resource "aws_sqs_queue" "returns" { name = "returns" }

data "aws_iam_policy_document" "orders" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.orders.arn]
    principals {
      type        = "Service"
      identifiers = ["s3.amazonaws.com"]
    }
    condition {
      test     = "ArnLike"
      variable = "aws:SourceArn"
      values   = ["arn:aws:s3:::${aws_s3_bucket.orders.id}"]
    }
  }
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.orders.arn]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_cloudwatch_event_rule.orders.arn]
    }
  }
}

data "aws_iam_policy_document" "returns" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.returns.arn]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_cloudwatch_event_rule.audit.arn]
    }
  }
}

resource "aws_sqs_queue_policy" "orders" {
  queue_url = aws_sqs_queue.orders.id
  policy    = data.aws_iam_policy_document.orders.json
}

resource "aws_sqs_queue_policy" "returns" {
  queue_url = aws_sqs_queue.returns.id
  policy    = data.aws_iam_policy_document.returns.json
}
