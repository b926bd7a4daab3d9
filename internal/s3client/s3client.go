// Package s3client has how the SDK's client for S3 is made here:
//
//	client := s3.NewFromConfig(cfg, s3client.Use)
package s3client

import "github.com/aws/aws-sdk-go-v2/service/s3"

// Use is an option of s3.NewFromConfig.
func Use(o *s3.Options) {
	// LocalStack, MinIO and similar servers usually have no DNS names for buckets below
	// their own.
	o.UsePathStyle = o.BaseEndpoint != nil
	// Objects of older libraries have no checksum. The SDK would log a line for each.
	o.DisableLogOutputChecksumValidationSkipped = true
}
