// Package events has sample SQS events as AWS Lambda sends them, one file for each shape,
// and the answer of examples/orders to each. Use them as test input:
//
//	payload, err := events.FS.ReadFile("mixed.json")
//	answer, err := lambdaHandler.Invoke(ctx, payload)
//
// The events in shapes are for functions whose bodies are not plain orders in JSON:
// envelopes, encoded bodies, pointers. The answer to each is that of its example in
// examples/migrating. README.md explains each event.
package events

import "embed"

// FS holds the events (mixed.json), the answers to them (answers/mixed.json),
// the payloads that must be refused (refused/sns.json), and events of other
// shapes (shapes/sns.json) with their answers (shapes/answers/sns.json).
//
//go:embed *.json answers/*.json refused/*.json shapes/*.json shapes/answers/*.json
var FS embed.FS
