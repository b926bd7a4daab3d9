package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"pgregory.net/rapid"
)

// mapped is a template with numbers that rules compare.
type mapped struct {
	fifo                     bool
	timeout, window, size    int
	visibility, count        int
	retention, deadRetention int
	concurrency, reserved    int
	minimum, maximum         int // pollers, 0: none
	delay                    int
	shape                    int
}

func draw(t *rapid.T) mapped {
	near := func(label string, bounds ...int) int {
		b := rapid.SampledFrom(bounds).Draw(t, label+" near")
		return max(0, b+rapid.IntRange(-1, 1).Draw(t, label))
	}
	m := mapped{fifo: rapid.Bool().Draw(t, "fifo"), timeout: rapid.IntRange(1, 900).Draw(t, "timeout")}
	m.window = near("window", 0, 1, 300)
	m.size = max(1, near("size", 1, 10, 100))
	m.visibility = near("visibility", m.timeout, 6*m.timeout+m.window, 30, 43199)
	m.count = max(1, near("count", 1, 5, 10))
	m.retention = max(60, near("retention", 60, 345600, 1209599))
	m.deadRetention = max(60, near("dead", m.retention, 1209599))
	m.concurrency = near("concurrency", 2, 1000, 20)
	m.reserved = max(1, near("reserved", m.concurrency, 1))
	if rapid.Bool().Draw(t, "provisioned") {
		m.minimum, m.maximum = near("minimum", 2, 200), near("maximum", 2, 200, 10000)
	}
	m.delay = near("delay", 0, 900)
	m.shape = rapid.IntRange(0, 1).Draw(t, "shape")
	return m
}

// text is the template in one of two styles.
func (m mapped) text() string {
	event := []string{"Queue: !GetAtt Q.Arn", "FunctionResponseTypes: [ReportBatchItemFailures]", fmt.Sprint("BatchSize: ", m.size), fmt.Sprint("MaximumBatchingWindowInSeconds: ", m.window)}
	if m.minimum > 0 || m.maximum > 0 {
		event = append(event, fmt.Sprintf("ProvisionedPollerConfig: {MinimumPollers: %d, MaximumPollers: %d}", m.minimum, m.maximum))
	} else {
		event = append(event, fmt.Sprintf("ScalingConfig: {MaximumConcurrency: %d}", m.concurrency))
	}
	queue := []string{fmt.Sprint("FifoQueue: ", m.fifo), fmt.Sprint("VisibilityTimeout: ", m.visibility), fmt.Sprint("MessageRetentionPeriod: ", m.retention), fmt.Sprint("DelaySeconds: ", m.delay),
		fmt.Sprintf("RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: %d}", m.count)}
	block := func(indent int, lines []string) string {
		if m.shape == 0 {
			return " {" + strings.Join(lines, ", ") + "}\n"
		}
		return "\n" + strings.Repeat(" ", indent) + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
	}
	return "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:" + block(6, queue) +
		"  D:\n    Type: AWS::SQS::Queue\n    Properties:" + block(6, []string{fmt.Sprint("FifoQueue: ", m.fifo), fmt.Sprint("MessageRetentionPeriod: ", m.deadRetention)}) +
		fmt.Sprintf("  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Timeout: %d\n      ReservedConcurrentExecutions: %d\n", m.timeout, m.reserved) +
		"      Events:\n        E:\n          Type: SQS\n          Properties:" + block(12, event)
}

// broken are the rules that the numbers break, from AWS's pages and not from the code.
func (m mapped) broken() map[string]bool {
	provisioned := m.minimum > 0 || m.maximum > 0
	outside := func(n, least, most int) bool { return n < least || n > most }
	return map[string]bool{
		"SB102": m.size > 10 && m.window < 1 && !m.fifo,
		"SB103": m.fifo && m.window > 0,
		"SB104": m.fifo && m.size > 10,
		"SB105": m.visibility < m.timeout,
		"SB106": m.visibility >= m.timeout && m.visibility < 6*m.timeout+m.window,
		"SB107": false,
		"SB108": provisioned && (outside(m.minimum, 2, 200) || outside(m.maximum, 2, 10000) || m.minimum > m.maximum),
		"SB109": !provisioned && m.concurrency > m.reserved,
		"SB110": provisioned && m.maximum*10 > m.reserved,
		"SB117": !provisioned && outside(m.concurrency, 2, 1000),
		"SB118": !m.fifo && (outside(m.size, 1, 10000) || m.window > 300),
		"SB202": m.count < 5,
		"SB204": !m.fifo && m.deadRetention <= m.retention && m.deadRetention < 1209600,
	}
}

// Around each numeric bound a rule finds what is beyond it, and nothing else. Applying fixes
// until there are none ends, with a template in which no finding has a fix.
func TestBounds_Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := draw(rt)
		text := m.text()
		found := checkText(t, text).Findings
		for id, want := range m.broken() {
			if got := slices.ContainsFunc(found, func(f rules.Finding) bool { return f.ID == id }); got != want {
				rt.Errorf("%s is found: %v, want %v, in\n%s", id, got, want, text)
			}
		}
		for round := 0; ; round++ {
			fixable := slices.DeleteFunc(checkText(t, text).Findings, func(f rules.Finding) bool { return f.Fix == nil })
			if len(fixable) == 0 {
				break
			}
			if round == 10 {
				rt.Fatalf("fixes do not end: %v in\n%s", fixable, text)
			}
			out, err := fixable[0].Fix.Apply([]byte(text))
			if err != nil {
				rt.Fatal(err)
			}
			text = string(out)
		}
	})
}
