package metrics

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// readBack compares what CloudWatch has with what was seen.
func readBack(ctx context.Context, seen seen) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	client := cloudwatch.NewFromConfig(cfg)
	var wrong []error
	for name, want := range seen {
		queue, name, _ := strings.Cut(name, " ")
		if err := compare(ctx, client, queue, metric.ByName(name), want); err != nil {
			wrong = append(wrong, fmt.Errorf("%s of queue %q: %w", name, queue, err))
		}
	}
	// Of the gauges, which only telemetry/cloudwatch has asked for, this one is
	// the same at any time.
	for _, queue := range []string{"orders", "returns"} {
		got, err := statistics(ctx, client, queue, metric.Slots)
		if err != nil {
			wrong = append(wrong, err)
		} else if got.min != slots || got.max != slots || got.count < 3 {
			wrong = append(wrong, fmt.Errorf("slots of %s: %+v, want %d each second", queue, got, slots))
		}
	}
	if len(seen) < 20 {
		wrong = append(wrong, fmt.Errorf("only %d metrics were seen", len(seen)))
	}
	fmt.Printf("%d metrics of two queues read back\n", len(seen))
	return errors.Join(wrong...)
}

type statistic struct{ count, sum, min, max float64 }

func statistics(ctx context.Context, client *cloudwatch.Client, queue string, m *metric.Metric) (s statistic, err error) {
	dimensions := []types.Dimension{{Name: aws.String("Service"), Value: aws.String("shop")}}
	if queue != "" {
		dimensions = append(dimensions, types.Dimension{Name: aws.String("Queue"), Value: &queue})
	}
	out, err := client.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("sqsbatch"), MetricName: &m.Name, Dimensions: dimensions, Unit: types.StandardUnit(m.Unit), Period: aws.Int32(60),
		StartTime: aws.Time(begin.Add(-time.Minute)), EndTime: aws.Time(time.Now().Add(time.Minute)),
		Statistics: []types.Statistic{types.StatisticSum, types.StatisticSampleCount, types.StatisticMinimum, types.StatisticMaximum},
	})
	if err != nil {
		return s, err
	}
	s.min = math.Inf(1)
	for _, p := range out.Datapoints {
		s.count, s.sum = s.count+*p.SampleCount, s.sum+*p.Sum
		s.min, s.max = min(s.min, *p.Minimum), max(s.max, *p.Maximum)
	}
	return s, nil
}

func compare(ctx context.Context, client *cloudwatch.Client, queue string, m *metric.Metric, want *metric.Values) error {
	got, err := statistics(ctx, client, queue, m)
	if err != nil {
		return err
	}
	near := func(a, b, by float64) bool { return math.Abs(a-b) <= by*math.Abs(b)+1e-9 }
	if !near(got.sum, want.Sum, metric.Error) {
		return fmt.Errorf("the sum is %g, want %g", got.sum, want.Sum)
	}
	if m.Kind == metric.Counter {
		if got.sum != want.Sum { // a counter is not rounded
			return fmt.Errorf("counted %g, want %g", got.sum, want.Sum)
		}
		return nil
	}
	if got.count != float64(want.Count) || got.min != want.Min || got.max != want.Max {
		return fmt.Errorf("%+v, want %d values from %g to %g", got, want.Count, want.Min, want.Max)
	}
	return nil
}

// call is a PutMetricData as it came over the wire.
type call struct {
	Bytes, Data int
	Compressed  string
}

func readCalls(path string) (all []call, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
