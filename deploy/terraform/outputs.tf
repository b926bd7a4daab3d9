output "queue_url" {
  description = "Send messages here."
  value       = aws_sqs_queue.queue.url
}

output "queue_arn" {
  value = aws_sqs_queue.queue.arn
}

output "queue_name" {
  description = "QueueName of deploy/monitoring.yaml."
  value       = aws_sqs_queue.queue.name
}

output "dead_letter_queue_url" {
  description = "Messages that could not be handled."
  value       = aws_sqs_queue.dead_letter_queue.url
}

output "dead_letter_queue_arn" {
  value = aws_sqs_queue.dead_letter_queue.arn
}

output "dead_letter_queue_name" {
  description = "DeadLetterQueueName of deploy/monitoring.yaml."
  value       = aws_sqs_queue.dead_letter_queue.name
}

output "function_name" {
  value = aws_lambda_function.function.function_name
}
