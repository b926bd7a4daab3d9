package template_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// "Configure Lambda function timeout" has 900 s; a function on Lambda Managed
// Instances may take 90 minutes, whether SAM or CloudFormation is asked for it.
func TestTimeoutOnManagedInstances(t *testing.T) {
	const sam = "CapacityProviderConfig: {Arn: !GetAtt Capacity.Arn, PerExecutionEnvironmentMaxConcurrency: 64}"
	const cloudFormation = "CapacityProviderConfig: {LambdaManagedInstancesCapacityProviderConfig: {CapacityProviderArn: !GetAtt Capacity.Arn}}"
	tests := []struct {
		name, properties, globals string
		managed                   bool
		want                      time.Duration
	}{
		{"ordinary", "Timeout: 900", "", false, 900 * time.Second},
		{"SAM", "Timeout: 5400, " + sam, "", true, 90 * time.Minute},
		{"SAM, of all functions", "Timeout: 5400", sam, true, 90 * time.Minute},
		{"CloudFormation", "Timeout: 5400, " + cloudFormation, "", true, 90 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "Globals: {Function: {" + tt.globals + "}}\n" + function(tt.properties, "VisibilityTimeout: 32700") +
				"  Capacity: {Type: AWS::Serverless::CapacityProvider, Properties: {VpcConfig: {SubnetIds: [s]}}}\n"
			d := resolveText(t, text, template.Options{})
			if f := d.Function; f.Timeout != tt.want || f.ManagedInstances != tt.managed {
				t.Errorf("timeout %v, managed instances %v; want %v, %v", f.Timeout, f.ManagedInstances, tt.want, tt.managed)
			}
			if len(d.Findings) != 0 {
				t.Errorf("findings: %v", d.Findings)
			}
		})
	}
}
