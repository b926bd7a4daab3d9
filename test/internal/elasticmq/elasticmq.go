// Package elasticmq gives the checks a second SQS server to compare with:
// ElasticMQ of a known version, fetched by Maven into the user's cache directory
// on the first use, and run on a free loopback port.
//
// It needs Java 11 or newer, and for the first use Maven and Maven Central.
package elasticmq

import (
	"context"
	"path/filepath"
	"regexp"

	"github.com/sqsbatch/sqsbatch/test/internal/javaserver"
)

// Version is the release that the checks were written against.
const Version = "1.7.1"

// Start starts ElasticMQ with the emulator's region and account, and waits until it
// answers. The error says what to install.
func Start(ctx context.Context) (*javaserver.Server, error) {
	return javaserver.Start(ctx, javaserver.Program{
		ID: "elasticmq", Name: "ElasticMQ",
		Group: "org.elasticmq", Artifact: "elasticmq-server_2.13", Version: Version,
		Arguments: func(libs string) []string {
			return []string{
				"-Drest-sqs.bind-hostname=127.0.0.1",
				"-Drest-sqs.bind-port=0", // a free one; it says which
				"-Dgenerate-node-address=true",
				"-Drest-stats.enabled=false",
				"-Daws.region=us-east-1",
				"-Daws.accountId=000000000000",
				"-cp", filepath.Join(libs, "*"), "org.elasticmq.server.Main",
			}
		},
		Port: regexp.MustCompile(`bind address 127\.0\.0\.1:([0-9]+)`),
		Header: map[string]string{
			"Content-Type": "application/x-amz-json-1.0",
			"X-Amz-Target": "AmazonSQS.ListQueues",
		},
	})
}
