// Package prometheus holds deploy/prometheus.yaml and deploy/grafana.json against Prometheus'
// own parser and engine: names exist, alerts fire when they should. It is a module
// because of what Prometheus requires.
package prometheus
