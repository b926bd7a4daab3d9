package clients

import (
	"os"
	"strings"
)

// environment is what a client needs to find the server, and nothing of AWS's.
func environment(endpoint string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			env = append(env, v)
		}
	}
	return append(env,
		"AWS_ENDPOINT_URL_SQS="+endpoint,
		"AWS_DEFAULT_REGION=us-east-1", // Python
		"AWS_REGION=us-east-1",         // other SDKs
		"AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test",
		"AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
		"PYTHONIOENCODING=utf-8",
	)
}
