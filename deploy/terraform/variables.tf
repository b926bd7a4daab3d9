# Names, defaults and bounds are those of the parameters of template.yaml.

variable "name" {
  type        = string
  description = "Name of the queue, the function, its role and its alarms. A change of the name needs new queues, which Terraform refuses to make."
  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "The name must have 1 to 64 letters, digits, hyphens and underscores. With fifo, the queues get the ending .fifo by themselves."
  }
}

variable "filename" {
  type        = string
  description = "Path of the zip file with the function's bootstrap."
}

variable "architecture" {
  type        = string
  default     = "arm64"
  nullable    = false
  description = "Processor that the bootstrap is built for: arm64 (GOARCH=arm64) or x86_64 (GOARCH=amd64)."
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "The architecture must be arm64 or x86_64."
  }
}

variable "fifo" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether the queues are FIFO queues. A change needs new queues, which Terraform refuses to make."
}

variable "function_timeout" {
  type        = number
  default     = 10
  nullable    = false
  description = "Timeout of an invocation in seconds. The queue's visibility timeout follows from it."
  validation {
    condition     = var.function_timeout >= 3 && var.function_timeout <= 900
    error_message = "The function_timeout must be 3 to 900."
  }
}

variable "memory_size" {
  type        = number
  default     = 256
  nullable    = false
  description = "Memory of the function in MB. CPU grows with it."
  validation {
    condition     = var.memory_size >= 128 && var.memory_size <= 10240
    error_message = "The memory_size must be 128 to 10240."
  }
}

variable "batch_size" {
  type        = number
  default     = 10
  nullable    = false
  description = "Most records of an invocation. Above 10 it needs a batch_window, and a queue that is not FIFO."
  validation {
    condition     = var.batch_size >= 1 && var.batch_size <= 10000
    error_message = "The batch_size must be 1 to 10000."
  }
}

variable "batch_window" {
  type        = number
  default     = 0
  nullable    = false
  description = "Seconds for which Lambda gathers records of a batch. No effect on FIFO queues, which have no window."
  validation {
    condition     = var.batch_window >= 0 && var.batch_window <= 300
    error_message = "The batch_window must be 0 to 300."
  }
}

variable "maximum_concurrency" {
  type        = number
  default     = 10
  nullable    = false
  description = "Most concurrent invocations."
  validation {
    condition     = var.maximum_concurrency >= 2 && var.maximum_concurrency <= 1000
    error_message = "The maximum_concurrency must be 2 to 1000."
  }
}

variable "max_receive_count" {
  type        = number
  default     = 5
  nullable    = false
  description = "Tries of a record before SQS moves it to the dead-letter queue. AWS recommends at least 5: throttled invocations count as tries."
  validation {
    condition     = var.max_receive_count >= 5 && var.max_receive_count <= 1000
    error_message = "The max_receive_count must be 5 to 1000."
  }
}

variable "log_level" {
  type        = string
  default     = "INFO"
  nullable    = false
  description = "The function's log level: DEBUG, INFO, WARN or ERROR."
  validation {
    condition     = contains(["DEBUG", "INFO", "WARN", "ERROR"], var.log_level)
    error_message = "The log_level must be DEBUG, INFO, WARN or ERROR."
  }
}

variable "oldest_message_seconds" {
  type        = number
  default     = 1800
  nullable    = false
  description = "Seconds a record may be in the queue before an alarm. A record that keeps failing is there for up to 23 minutes."
  validation {
    condition     = var.oldest_message_seconds >= 60
    error_message = "The oldest_message_seconds must be at least 60."
  }
}

variable "alarm_topic_arn" {
  type        = string
  default     = ""
  nullable    = false
  description = "SNS topic that the alarms notify. If it is empty, the alarms notify no one."
}

# What a copy of template.yaml would be changed for.

variable "enabled" {
  type        = bool
  default     = true
  nullable    = false
  description = "Whether Lambda polls the queue. With false the messages stay in the queue, for its 4 days."
}

variable "environment" {
  type        = map(string)
  default     = {}
  nullable    = false
  description = "More variables of the function, such as SQSBATCH_CONCURRENCY."
}

variable "policies" {
  type        = map(string)
  default     = {}
  nullable    = false
  description = "What the function may call besides SQS: policies in JSON, by names of your choice."
}

variable "kms_key_arn" {
  type        = string
  default     = ""
  nullable    = false
  description = "KMS key that encrypts the queues. If it is empty, SQS's own keys do, which need no permission."
}

variable "tags" {
  type        = map(string)
  default     = {}
  nullable    = false
  description = "Tags of each resource."
}
