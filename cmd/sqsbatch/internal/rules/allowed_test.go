package rules_test

import (
	"slices"
	"strings"
	"testing"
)

// stages has resources that depend on a parameter without a value.
const stages = `Parameters:
  Stage: {Type: String, AllowedValues: [dev, test, prod]}
  Fast: {Type: String, AllowedValues: ["yes", "no"]}
Conditions:
  Prod: !Equals [!Ref Stage, prod]
  Fast: !And [!Condition Prod, !Equals [!Ref Fast, "yes"]]
Resources:
  Always: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  OnlyProd: {Type: AWS::SQS::Queue, Condition: Prod, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  OnlyFast: {Type: AWS::SQS::Queue, Condition: Fast, Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
`

// A parameter without a value that decides what is created is tried with its allowed values.
func TestCheck_AllowedValuesDecide(t *testing.T) {
	result := checkText(t, stages)
	var got []string
	for _, f := range result.Findings {
		if f.ID == "SB203" {
			_, when, _ := strings.Cut(f.Message, " (if ")
			got = append(got, f.Resource+" "+when)
		}
	}
	if want := []string{"Always ", "OnlyProd Stage is prod)", "OnlyFast Fast is yes) (if Stage is prod)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(result.Unknown) > 0 {
		t.Errorf("unknown: %v", result.Unknown)
	}
}

// A suppression is unused only if it is so for all values.
func TestCheck_AllowedValuesAndSuppressions(t *testing.T) {
	const ignore = "Metadata: {sqsbatch: {ignore: {SB203: on purpose}}}\n"
	result := checkText(t, strings.ReplaceAll(ignore+stages, "  Always:", "  # "))
	for _, f := range result.Findings {
		if f.ID == "SB203" || f.ID == "SB001" {
			t.Error(f)
		}
	}
	if len(result.Suppressed) != 2 {
		t.Errorf("suppressed: %v", result.Suppressed)
	}
}

// Too many values are not tried, and neither are those of a parameter that may have any. The
// resources that were not checked are named with the parameter.
func TestCheck_ParameterMayHaveAnyValue(t *testing.T) {
	for name, allowed := range map[string]string{
		"any value": "", "many values": ", AllowedValues: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, prod]",
	} {
		result := checkText(t, strings.Replace(stages, ", AllowedValues: [dev, test, prod]", allowed, 1))
		var got []string
		for _, u := range result.Unknown {
			got = append(got, u.Parameter+" "+u.Resource)
		}
		if want := []string{"Stage OnlyProd", "Stage OnlyFast"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
