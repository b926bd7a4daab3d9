package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// cloudWatch is the resource of deploy/monitoring.yaml: what is in ${} are its
// parameters. Widgets have no place of their own, so that CloudWatch puts each
// behind the one before.
func cloudWatch() string {
	var b strings.Builder
	b.WriteString(`  Dashboard:
    Type: AWS::CloudWatch::Dashboard
    Properties:
      DashboardName: !Ref AWS::StackName
      DashboardBody: !Sub
        - |
          {"start": "-PT6H", "widgets": [
`)
	b.WriteString(widgets(everywhere, 10))
	b.WriteString(`          ,
          ${Mode}
          ]}
        - Mode: !If
            - OnLambda
            - !Sub |
`)
	b.WriteString(widgets(onLambda, 14))
	b.WriteString("            - !Sub |\n")
	b.WriteString(widgets(inContainers, 14))
	return b.String()
}

// widgets are those of a place, separated by commas, indented.
func widgets(at where, indent int) string {
	var list []string
	for _, p := range panels {
		if p.at == at {
			list = append(list, p.widget())
		}
	}
	pad := strings.Repeat(" ", indent)
	return pad + strings.ReplaceAll(strings.Join(list, ",\n"), "\n", "\n"+pad) + "\n"
}

// widget is a panel in CloudWatch's words, see "Dashboard body structure and
// syntax" in its API reference.
func (p panel) widget() string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type": "metric", "width": 8, "height": 6, "properties": {"title": %s, "region": "${AWS::Region}", "view": "timeSeries", "stacked": %t, "period": 60,`+"\n",
		quote(p.title), p.stack)
	axis := map[string]any{"min": 0}
	if u := [...]string{plain: "", seconds: "Seconds", milliseconds: "Milliseconds", percent: "Percent", dollars: "$"}[p.unit]; u != "" {
		axis["label"], axis["showUnits"] = u, false
	}
	fmt.Fprintf(&b, `  "yAxis": {"left": %s},`, quote(axis))
	if p.limit > 0 {
		fmt.Fprintf(&b, ` "annotations": {"horizontal": [{"value": %v}]},`, p.limit)
	}
	b.WriteString("\n  \"metrics\": [\n")
	var rows []string
	for i, l := range p.lines {
		options := map[string]any{"label": l.label, "stat": l.statistic()}
		if p.unit == dollars {
			options = map[string]any{"id": fmt.Sprintf("m%d", i+1), "stat": l.statistic(), "visible": false}
		}
		row := append(l.source(), options)
		rows = append(rows, "    "+quote(row))
	}
	if p.unit == dollars { // of those that there are: SUM passes over the others
		rows = append(rows, "    "+quote([]any{map[string]any{"label": "$ an hour", "expression": "SUM(METRICS()) * 3600 / PERIOD(m1) * " + dollarsARequest}}))
	}
	b.WriteString(strings.Join(rows, ",\n"))
	b.WriteString("]}}")
	return b.String()
}

// source is the metric's namespace, name and dimensions.
func (l line) source() []any {
	names := []string{"${Namespace}", "", "Service", "${Service}", "Queue", "${QueueName}"}
	if l.aws != nil {
		names = append([]string{l.aws.namespace, l.aws.name}, l.aws.dimensions...)
	} else {
		names[1] = l.metric.Name
	}
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = n
	}
	return list
}

func (l line) statistic() string {
	switch {
	case l.stat != "":
		return l.stat
	case l.metric.Kind == metric.Gauge:
		return "Average" // of a task: their sum would depend on the period
	}
	return "Sum"
}

// quote is v as JSON on a line.
func quote(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // nothing of the list cannot be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// words are a metric's name as words: RecordsLost is "records lost".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
