terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80" # the first with metrics_config of event source mappings
    }
  }
}
