// Package prometheus holds deploy/prometheus and deploy/grafana against Prometheus'
// own parser and engine: names exist, alerts fire when they should. It is a module
// because of what Prometheus requires.
package prometheus
