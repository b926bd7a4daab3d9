package cloudwatch_test

import (
	"os"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// The page's metric math asks for a metric as it is put.
func TestThePagesMetricMath(t *testing.T) {
	page, err := os.ReadFile("../../docs/observability/cloudwatch.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- metric math[^\n]*\n```yaml\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/observability/cloudwatch.md has no metric math")
	}
	var queries []struct {
		MetricStat struct {
			Stat   string `yaml:"Stat"`
			Metric struct {
				Namespace  string `yaml:"Namespace"`
				MetricName string `yaml:"MetricName"`
				Dimensions []struct {
					Name  string    `yaml:"Name"`
					Value yaml.Node `yaml:"Value"`
				} `yaml:"Dimensions"`
			} `yaml:"Metric"`
		} `yaml:"MetricStat"`
	}
	if err := yaml.Unmarshal(found[1], &queries); err != nil || len(queries) != 1 {
		t.Fatal(queries, err)
	}
	virtual(t, &fake{}, cloudwatch.Options{}, func(t *testing.T, f *fake, h *cloudwatch.Hook) {
		h.Polling(t.Context(), orders, func() batch.Load { return batch.Load{Slots: 10, Ended: true} })
		h.Flush(t.Context())
		asked := queries[0].MetricStat.Metric
		put := f.of(asked.MetricName)
		if len(put) != 1 || f.all()[0].namespace != asked.Namespace || len(put[0].dimensions) != len(asked.Dimensions) {
			t.Fatalf("asked for %+v, put %+v", asked, put)
		}
		for _, d := range asked.Dimensions {
			if put[0].dimensions[d.Name] == "" {
				t.Errorf("the dimension %s is not put", d.Name)
			}
		}
		if _, n := put[0].sum(); queries[0].MetricStat.Stat != "SampleCount" || n != 1 {
			t.Errorf("%s of a task is %g", queries[0].MetricStat.Stat, n)
		}
	})
}
