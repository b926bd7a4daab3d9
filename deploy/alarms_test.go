package deploy_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A queue's URL or ARN for its name would be dimensions that no metric has, and
// alarms that are silent forever: CloudFormation refuses them.
func TestQueuesAreGivenByName(t *testing.T) {
	parameters := at(t, load(t, "monitoring.yaml"), "Parameters")
	for _, name := range []string{"QueueName", "DeadLetterQueueName"} {
		allowed := at(t, parameters, name, "AllowedPattern").(string)
		pattern, err := regexp.Compile("^(?:" + allowed + ")$") // CloudFormation's patterns are of the whole value
		if err != nil || allowed == "" {
			t.Errorf("%s: pattern %q: %v", name, allowed, err)
			continue
		}
		for value, want := range map[string]bool{
			"orders": true, "orders-dead": true, "Orders_2": true, "orders.fifo": true, strings.Repeat("q", 80): true,
			"": false, "orders.dead": false, "ordersXfifo.": false, strings.Repeat("q", 81): false,
			"https://sqs.eu-west-1.amazonaws.com/123456789012/orders": false, "arn:aws:sqs:eu-west-1:123456789012:orders": false,
		} {
			if pattern.MatchString(value) != want {
				t.Errorf("%s: %q is taken: %v, want %v", name, value, !want, want)
			}
		}
	}
}

// On Lambda a failed message comes back after six times the timeout: alone in its
// queue it has to set off the alarms before its five tries are over.
func TestAlarmsSeeALonelyMessage(t *testing.T) {
	resources := at(t, load(t, "monitoring.yaml"), "Resources")
	for _, name := range []string{"InvocationErrorsAlarm", "VisibilityFailuresAlarm"} {
		properties := at(t, resources, name, "Properties").(map[string]any)
		number := func(property string) int {
			value, set := properties[property]
			if !set {
				return 0
			}
			n, err := strconv.Atoi(fmt.Sprint(value))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, property, err)
			}
			return n
		}
		period := number("Period")
		if period == 0 {
			t.Fatalf("%s has no Period", name)
		}
		isAlarm := func(sums []int) bool {
			return alarm(sums, number("EvaluationPeriods"), max(number("DatapointsToAlarm"), 1), number("Threshold"))
		}
		for _, timeout := range []time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second} {
			for offset := 0; offset < period; offset += 10 { // in the first period
				sums := make([]int, 1+(offset+int(5*6*timeout/time.Second))/period)
				for try := range 5 {
					sums[(offset+int(time.Duration(try)*6*timeout/time.Second))/period]++
				}
				if !isAlarm(sums) {
					t.Errorf("%s: five failures %v apart are no alarm: %v every %d s", name, 6*timeout, sums, period)
				}
			}
		}
		if isAlarm([]int{1}) {
			t.Errorf("%s: a single failure is an alarm", name)
		}
	}
}

// alarm reports whether so many of so many sums in a row are above the threshold.
func alarm(sums []int, of, datapoints, threshold int) bool {
	for i := range sums {
		above := 0
		for _, sum := range sums[i:min(i+of, len(sums))] {
			if sum > threshold {
				above++
			}
		}
		if above >= datapoints {
			return true
		}
	}
	return false
}
