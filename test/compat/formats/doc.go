// Package formats compares what sqsbatch writes with the formats of others. It is a module of its own
// because of what these require. OTLP: spans and metrics of telemetry/otel go through the SDK's batch
// processor and its exporters, over HTTP on a socket of this machine, to a receiver that decodes the
// protocol. SARIF: the output of `sqsbatch lint` is compared with the schema of OASIS (2.1.0 with
// errata 01), which is in the source of go-sarif. Package prometheus below has deploy/prometheus.yaml and
// deploy/grafana.json under Prometheus' own parser and engine: names exist, alerts fire when they should.
package formats
