package endpoint

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// ARN is arn:PARTITION:sqs:REGION:ACCOUNT:NAME.
type ARN struct{ Region, Account, Name string }

// ParseARN parses a queue's ARN. Its error shows the form that an ARN must have.
func ParseARN(s string) (ARN, error) {
	part := strings.Split(s, ":")
	if len(part) != 6 || part[0] != "arn" || part[2] != "sqs" || part[3] == "" || part[4] == "" || part[5] == "" {
		return ARN{}, fmt.Errorf("%q is not a queue's ARN (arn:aws:sqs:REGION:ACCOUNT:NAME)", s)
	}
	return ARN{Region: part[3], Account: part[4], Name: part[5]}, nil
}

// QueueURL derives a queue's URL from its ARN without a call to SQS, since neither of SAM's
// policies for a function with a queue allows GetQueueUrl. It uses the endpoint that the
// client itself resolves, so that partition, FIPS, dual stack and custom endpoints are
// right, with the account and the name as its path.
func QueueURL(ctx context.Context, client *sqs.Client, arn ARN) (string, error) {
	o := client.Options()
	resolved, err := o.EndpointResolverV2.ResolveEndpoint(ctx, sqs.EndpointParameters{
		Region:       &arn.Region,
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:      aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		Endpoint:     o.BaseEndpoint,
	})
	if err != nil {
		return "", fmt.Errorf("no SQS endpoint for region %q: %w", arn.Region, err)
	}
	return strings.TrimSuffix(resolved.URI.String(), "/") + "/" + arn.Account + "/" + arn.Name, nil
}
