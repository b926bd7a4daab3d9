package lint_test

import (
	"fmt"
	"strings"
	"testing"
)

// A queue of the examples with a finding, and what is before it.
const short = `Resources:
  Q:
    Type: AWS::SQS::Queue%s
    Properties:%s
      VisibilityTimeout: 30%s
      RedrivePolicy: {deadLetterTargetArn: "arn:aws:sqs:eu-west-1:123456789012:far", maxReceiveCount: 5}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 10
      Role: !ImportValue role
      Events:
        E:
          Type: SQS
          Properties:
            Queue: !GetAtt Q.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
            MetricsConfig: {Metrics: [EventCount]}
`

// A suppression is in the metadata of the resource or the template, or in a comment on the
// line or above it. It has a reason, and something to suppress.
func TestSuppressions(t *testing.T) {
	metadata := func(ignore string) string {
		return "\n    Metadata: {sqsbatch: {ignore: {" + ignore + "}}}"
	}
	for name, c := range map[string]struct {
		text       string
		suppressed string // "ID reason"
		found      string // "ID line", in the order of the file
	}{
		"nothing":                  {fmt.Sprintf(short, "", "", ""), "", "SB106 5"},
		"metadata":                 {fmt.Sprintf(short, metadata("SB106: why not"), "", ""), "SB106 why not", ""},
		"metadata of the template": {"Metadata: {sqsbatch: {ignore: {SB106: why not}}}\n" + fmt.Sprintf(short, "", "", ""), "SB106 why not", ""},
		"metadata elsewhere":       {strings.Replace(fmt.Sprintf(short, "", "", ""), "    Type: AWS::Serverless", "    Metadata: {sqsbatch: {ignore: {SB106: why}}}\n    Type: AWS::Serverless", 1), "", "SB106 5, SB001 8"},
		"on the line":              {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106 why not"), "SB106 why not", ""},
		"above":                    {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not", ""), "SB106 why not", ""},
		"above another comment":    {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not\n      # Half a minute.", ""), "SB106 why not", ""},
		"too far":                  {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not\n", ""), "", "SB001 5, SB106 7"},
		"no reason":                {fmt.Sprintf(short, metadata(`SB106: ""`), "", ""), "", "SB002 4, SB106 6"},
		"no reason in a comment":   {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106"), "", "SB106 5, SB002 5"},
		"no such rule":             {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB999 why"), "", "SB106 5, SB002 5"},
		"no rule":                  {fmt.Sprintf(short, "", "", " # sqsbatch:ignore"), "", "SB106 5, SB002 5"},
		"another rule":             {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB105 why"), "", "SB106 5, SB001 5"},
		"in a text":                {fmt.Sprintf(short, "", "\n      Tags: [{Key: a, Value: 'x # sqsbatch:ignore SB106 why'}]", ""), "", "SB106 6"},
		"in a block":               {"Description: |\n  # sqsbatch:ignore SB106 why\n" + fmt.Sprintf(short, "", "", ""), "", "SB106 7"},
	} {
		t.Run(name, func(t *testing.T) {
			result := checkText(t, c.text)
			var suppressed, found []string
			for _, s := range result.Suppressed {
				suppressed = append(suppressed, s.ID+" "+s.Reason)
				if s.By.Line == 0 {
					t.Errorf("%v has no place", s)
				}
			}
			for _, f := range result.Findings {
				found = append(found, fmt.Sprint(f.ID, " ", f.Pos.Line))
			}
			if got := strings.Join(found, ", "); strings.Join(suppressed, ", ") != c.suppressed || got != c.found {
				t.Errorf("suppressed %v, want %s; found %s, want %s\n%s", suppressed, c.suppressed, got, c.found, c.text)
			}
		})
	}
}

// A suppression of a rule that could not be checked is not reported as without effect.
func TestSuppressions_OfWhatIsNotKnown(t *testing.T) {
	text := "Parameters: {T: {Type: Number}}\n" + strings.Replace(fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106 why"), "Timeout: 10", "Timeout: !Ref T", 1)
	if result := checkText(t, text); len(result.Findings) > 0 || len(result.Suppressed) > 0 {
		t.Errorf("%+v", result)
	}
}
