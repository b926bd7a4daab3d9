// Package events holds sample SQS events as AWS Lambda sends them, one file
// per shape, and the answer that examples/orders gives to each. README.md says
// what each shows.
//
// They serve as input of tests as they are:
//
//	payload, err := events.FS.ReadFile("mixed.json")
//	answer, err := lambdaHandler.Invoke(ctx, payload)
package events

import "embed"

// FS holds the events (mixed.json), the answers to them (answers/mixed.json)
// and the payloads that must be refused (refused/sns.json).
//
//go:embed *.json answers/*.json refused/*.json
var FS embed.FS
