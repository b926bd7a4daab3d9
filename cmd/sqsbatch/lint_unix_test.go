//go:build unix

package main

import (
	"strings"
	"testing"
)

// --fix leaves something that is no file alone.
func TestLint_FixOfADevice(t *testing.T) {
	cmd := command(t, t.TempDir(), "lint", "--fix", "/dev/stdin")
	cmd.Stdin = strings.NewReader("Resources: {Q: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}}}, D: {Type: AWS::SQS::Queue}}\n")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "/dev/stdin: not fixed: it is not a regular file; name the file itself") {
		t.Errorf("%v\n%s", err, out)
	}
}
