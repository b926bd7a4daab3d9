package sqs

// chooseEncryption applies the rule that a queue has one kind of server-side
// encryption (API reference, SetQueueAttributes: "Only one server-side
// encryption option is supported per queue"): a KMS key switches the kind off
// that needs none, which every new queue has. merged are the attributes with
// the given ones among them. Nothing is encrypted here.
func chooseEncryption(merged, given map[string]string) *apiError {
	if merged["KmsMasterKeyId"] == "" {
		if _, removed := given["KmsMasterKeyId"]; removed {
			delete(merged, "KmsDataKeyReusePeriodSeconds")
		}
		return nil
	}
	if given["SqsManagedSseEnabled"] == "true" {
		return modelled("InvalidAttributeName",
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}
	merged["SqsManagedSseEnabled"] = "false"
	if merged["KmsDataKeyReusePeriodSeconds"] == "" {
		merged["KmsDataKeyReusePeriodSeconds"] = "300"
	}
	return nil
}
