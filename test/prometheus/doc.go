// Package prometheus holds deploy/prometheus and deploy/grafana against
// Prometheus' own parser and engine: what they ask for is there, and each alert
// fires when it should and not when it should not. It is a module of its own,
// because of what Prometheus requires.
package prometheus
