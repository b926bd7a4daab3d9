// Package dynamodblocal gives the checks a server of DynamoDB's interface: AWS's DynamoDB
// Local of a known version, fetched by Maven into the user's cache directory on the first
// use, and run on a free loopback port with all tables in memory:
//
//	server, err := dynamodblocal.Start(ctx)
//	if err != nil { … }
//	defer server.Stop()
//	fmt.Println(server.URL)
//
// It needs Java 17 or newer, and for the first use Maven and Maven Central.
package dynamodblocal

import (
	"context"
	"net"
	"path/filepath"
	"regexp"

	"github.com/sqsbatch/sqsbatch/test/internal/freeport"
	"github.com/sqsbatch/sqsbatch/test/internal/javaserver"
)

// Version is the release that the checks were written against.
const Version = "2.6.1"

// Start starts DynamoDB Local without tables, and waits until it answers. The error says what
// to install.
func Start(ctx context.Context) (*javaserver.Server, error) {
	address, err := freeport.Address() // DynamoDB Local cannot choose a port by itself
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return javaserver.Start(ctx, javaserver.Program{
		ID: "dynamodblocal", Name: "DynamoDB Local",
		Group: "com.amazonaws", Artifact: "DynamoDBLocal", Version: Version,
		Arguments: func(libs string) []string {
			return []string{
				"-Djava.library.path=" + libs, "-Dsqlite4java.library.path=" + libs,
				"-cp", filepath.Join(libs, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
				"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
			}
		},
		Port: regexp.MustCompile(`^Port:\s+([0-9]+)$`),
		Header: map[string]string{
			"Content-Type":  "application/x-amz-json-1.0",
			"X-Amz-Target":  "DynamoDB_20120810.ListTables",
			"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
		},
	})
}
