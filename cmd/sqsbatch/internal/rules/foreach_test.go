package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
)

const looped = `Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Parameters: {Names: {Type: CommaDelimitedList, Default: "Orders, Bills"}}
Resources:
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  Fn::ForEach::Queues:
    - Name
    - !Ref Names
    - Queue${Name}:
        Type: AWS::SQS::Queue
        Metadata: {sqsbatch: {ignore: {SB202: on purpose}}}
        Properties:
          QueueName: !Sub '${Name}-${AWS::Region}'
          RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}
      Fn::ForEach::Workers:
        - Kind
        - [a, b-c]
        - Worker${Name}&{Kind}:
            Type: AWS::Serverless::Function
            Properties:
              FunctionName: !Join ['-', [!Ref Name, !Ref Kind]]
              Events: {E: {Type: SQS, Properties: {Queue: !GetAtt ['Queue${Name}', Arn], MetricsConfig: {Metrics: [EventCount]}}}}
`

// Resources of Fn::ForEach are checked as those that are written one by one.
func TestCheck_ForEach(t *testing.T) {
	result := checkText(t, looped)
	var got []string
	for _, f := range result.Findings {
		if f.ID == "SB202" || f.ID == "SB101" || f.ID == "SB001" {
			for _, about := range f.About {
				got = append(got, strings.TrimSpace(f.ID+" "+f.Resource+" "+about.Function+" "+about.Queue))
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"SB101 Worker${Name}&{Kind} WorkerBillsa QueueBills", "SB101 Worker${Name}&{Kind} WorkerBillsbc QueueBills",
		"SB101 Worker${Name}&{Kind} WorkerOrdersa QueueOrders", "SB101 Worker${Name}&{Kind} WorkerOrdersbc QueueOrders",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q\nunknown %v", got, want, result.Unknown)
	}
	if len(result.Suppressed) != 2 { // one for each queue
		t.Errorf("suppressed: %v", result.Suppressed)
	}
}

// A loop that cannot be expanded, or makes too much, is named.
func TestCheck_ForEachIsNotKnown(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, want string }{
		"no value":    {`, Default: "Orders, Bills"`, "", "parameter Names has no default"},
		"not a list":  {"- !Ref Names", "- !ImportValue x", "Fn::ImportValue has no value"},
		"many values": {"- !Ref Names", "- [" + strings.Repeat("x, ", 2500) + "x]", "the loops make more than 2000 resources"},
	} {
		result := checkText(t, strings.Replace(looped, tt.old, tt.new, 1))
		if !slices.ContainsFunc(result.Unknown, func(u rules.Unknown) bool { return strings.Contains(u.Message, tt.want) }) {
			t.Errorf("%s: %v", name, result.Unknown)
		}
	}
}
