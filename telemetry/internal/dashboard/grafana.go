package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

type object = map[string]any

// grafana is the dashboard as Grafana imports it. It has what Prometheus
// scrapes: nothing of AWS's own metrics, and nothing of Lambda.
func grafana() []byte {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var list []object
	for _, p := range panels {
		targets := p.targets()
		if p.at == onLambda || len(targets) == 0 {
			continue
		}
		n := len(list)
		for _, t := range targets {
			t["datasource"] = source
		}
		custom := object{"fillOpacity": 10, "lineWidth": 1, "showPoints": "never"}
		if p.stack {
			custom["stacking"] = object{"mode": "normal", "group": "A"}
		}
		defaults := object{"unit": p.grafanaUnit(), "min": 0, "custom": custom}
		if p.limit > 0 {
			custom["thresholdsStyle"] = object{"mode": "line"}
			defaults["thresholds"] = object{"mode": "absolute", "steps": []object{{"color": "transparent", "value": nil}, {"color": "red", "value": p.limit / 100}}}
		}
		list = append(list, object{
			"id": n + 1, "type": "timeseries", "title": p.title, "description": p.help, "datasource": source,
			"gridPos":     object{"x": 8 * (n % 3), "y": 8 * (n / 3), "w": 8, "h": 8},
			"fieldConfig": object{"defaults": defaults, "overrides": []any{}},
			"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
			"targets":     targets,
		})
	}
	all := prometheus.Name(metric.RecordsSucceeded)
	dashboard := object{
		"uid": "sqsbatch", "title": "sqsbatch", "description": "SQS consumers built with sqsbatch, from telemetry/prometheus.", "tags": []string{"sqs", "sqsbatch"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "time": object{"from": "now-6h", "to": "now"},
		"annotations": object{"list": []any{}},
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			choice("job", "Job", "label_values("+all+", job)", source),
			choice("queue", "Queue", `label_values(`+all+`{job=~"$job"}, queue)`, source),
		}},
		"panels": list,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(dashboard); err != nil {
		panic(err) // nothing of the list cannot be written
	}
	return b.Bytes()
}

func choice(name, label, query string, source object) object {
	return object{
		"name": name, "label": label, "type": "query", "datasource": source, "definition": query, "query": object{"query": query, "refId": name},
		"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": []string{"All"}, "value": []string{"$__all"}},
	}
}

// targets are the lines that Prometheus has.
func (p panel) targets() (list []object) {
	var sum []string
	for _, l := range p.lines {
		if l.metric == nil {
			continue
		}
		if l.stat == "Maximum" && l.metric.Kind == metric.Distribution {
			continue // which histograms have not
		}
		expr := l.expression()
		if p.unit == dollars {
			sum = append(sum, expr)
			continue
		}
		list = append(list, object{"refId": fmt.Sprintf("%c", 'A'+len(list)), "expr": expr, "legendFormat": l.label})
	}
	if len(sum) > 0 {
		list = []object{{"refId": "A", "expr": fmt.Sprintf("(%s) * 3600 * %s", strings.Join(sum, " + "), dollarsARequest), "legendFormat": "$ an hour"}}
	}
	return list
}

// expression is a line in PromQL. A histogram is asked for its classic buckets,
// or else for its native ones.
func (l line) expression() string {
	name, labels := prometheus.Name(l.metric), `job=~"$job",queue=~"$queue"`
	if l.metric.Label != "" {
		labels += fmt.Sprintf(",%s=%q", l.metric.Label, l.metric.Value)
	}
	switch l.metric.Kind {
	case metric.Gauge:
		aggregate := "sum"
		if l.stat == "Maximum" {
			aggregate = "max"
		}
		return fmt.Sprintf("%s(%s{%s})", aggregate, name, labels)
	case metric.Distribution:
		q := "0." + strings.TrimPrefix(l.stat, "p")
		rate := func(suffix string) string {
			return fmt.Sprintf("rate(%s%s{%s}[$__rate_interval])", name, suffix, labels)
		}
		return fmt.Sprintf("histogram_quantile(%s, sum by (le) (%s)) or histogram_quantile(%s, sum(%s))", q, rate("_bucket"), q, rate(""))
	}
	return fmt.Sprintf("sum(rate(%s{%s}[$__rate_interval]))", name, labels)
}

func (p panel) grafanaUnit() string {
	switch p.unit {
	case seconds, milliseconds:
		return "s"
	case percent:
		return "percentunit"
	case dollars:
		return "currencyUSD"
	}
	for _, l := range p.lines {
		if l.metric != nil && l.metric.Kind != metric.Counter {
			return "short"
		}
	}
	return "cps" // counters are shown as rates
}
