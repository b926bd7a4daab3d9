// Package events holds sample SQS events as AWS Lambda sends them, one file
// per shape, and the answer that examples/orders gives to each. README.md says
// what each shows.
//
// Those of shapes are of functions that take other things than orders as JSON:
// envelopes, coded bodies, pointers. The answer to each is that of its example in
// examples/migrating.
//
// They serve as input of tests as they are:
//
//	payload, err := events.FS.ReadFile("mixed.json")
//	answer, err := lambdaHandler.Invoke(ctx, payload)
package events

import "embed"

// FS holds the events (mixed.json), the answers to them (answers/mixed.json),
// the payloads that must be refused (refused/sns.json), and events of other
// shapes (shapes/sns.json) with their answers (shapes/answers/sns.json).
//
//go:embed *.json answers/*.json refused/*.json shapes/*.json shapes/answers/*.json
var FS embed.FS
