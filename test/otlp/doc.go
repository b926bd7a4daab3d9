// Package otlp holds telemetry/otel against what a backend is sent: spans and
// metrics go through the SDK's batch processor and its OTLP exporters, over HTTP
// on a socket of this machine, to a receiver that decodes the protocol. It is a
// module of its own because of what exporters and protocol require.
//
//	go test ./...     in this directory, or: make otlp
package otlp
