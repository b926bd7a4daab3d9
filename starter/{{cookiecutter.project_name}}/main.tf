# "make deploy" builds the function and applies this. The module's page has all variables, and what a change does:
# https://github.com/sqsbatch/sqsbatch/blob/main/docs/deploying/terraform.md

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
  # Where the state is kept for a team: backend "s3" { … }
}

provider "aws" {} # the region is your profile's, or AWS_REGION

module "queue" {
  source          = "github.com/sqsbatch/sqsbatch//deploy/terraform?ref=v0.1.0"
  name            = "{{ cookiecutter.project_name }}"
  filename        = "build/function.zip"
  alarm_topic_arn = "" # an SNS topic, or the alarms notify no one
}

output "queue_url" {
  description = "Send messages here."
  value       = module.queue.queue_url
}

output "queue_name" {
  value = module.queue.queue_name
}

output "dead_letter_queue_name" {
  value = module.queue.dead_letter_queue_name
}

output "function_name" {
  value = module.queue.function_name
}
