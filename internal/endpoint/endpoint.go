// Package endpoint derives the region and the endpoint of a queue from its URL or ARN.
package endpoint

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// partition is a group of AWS regions with its own domains, see "Amazon Simple Queue Service
// endpoints and quotas" in the AWS General Reference, and the partitions of the AWS SDK.
type partition struct {
	name      string
	prefix    string // of its regions' names
	suffix    string // of its hosts
	dualStack string // of those that have IPv6 addresses too
}

// partitions has the commercial one last: its prefix is that of all the others.
var partitions = []partition{
	{"aws-cn", "cn-", ".amazonaws.com.cn", ".api.amazonwebservices.com.cn"},
	{"aws-us-gov", "us-gov-", ".amazonaws.com", ".api.aws"},
	{"aws-eusc", "eusc-", ".amazonaws.eu", ".api.amazonwebservices.eu"},
	{"aws-iso", "us-iso-", ".c2s.ic.gov", ".api.aws.ic.gov"},
	{"aws-iso-b", "us-isob-", ".sc2s.sgov.gov", ".api.aws.scloud"},
	{"aws-iso-e", "eu-isoe-", ".cloud.adc-e.uk", ".api.cloud-aws.adc-e.uk"},
	{"aws-iso-f", "us-isof-", ".csp.hci.ic.gov", ".api.aws.hci.ic.gov"},
	{"aws", "", ".amazonaws.com", ".api.aws"},
}

// PartitionOf returns the partition of a region, the second part of its ARNs.
func PartitionOf(region string) string { return ofRegion(region).name }

// Suffix returns the end of the hosts of a region's endpoints: ".amazonaws.com".
func Suffix(region string) string { return ofRegion(region).suffix }

func ofRegion(region string) partition {
	i := slices.IndexFunc(partitions, func(p partition) bool { return strings.HasPrefix(region, p.prefix) })
	return partitions[i]
}

// Region returns the region in the host of a queue's URL, or "" when the host
// is not one of AWS's.
func Region(host string) string {
	region, _ := ofAWS(host)
	return region
}

// ofAWS returns the region in a host of AWS, and whether a client calls that host by
// default for the region.
func ofAWS(host string) (region string, usual bool) {
	host = strings.ToLower(host)
	for _, p := range partitions {
		if rest, ok := strings.CutSuffix(host, p.dualStack); ok {
			region, _ = inLabels(strings.Split(rest, "."))
			return region, false
		}
		if rest, ok := strings.CutSuffix(host, p.suffix); ok {
			return inLabels(strings.Split(rest, "."))
		}
	}
	return "", false
}

// inLabels parses the part of a host before the domain: sqs.REGION, sqs-fips.REGION,
// REGION.queue and queue (old forms), or VPCE.sqs.REGION.vpce.
func inLabels(label []string) (region string, usual bool) {
	n := len(label)
	switch {
	case n == 1 && label[0] == "queue":
		return "us-east-1", true
	case n == 2 && label[1] == "queue":
		return label[0], true
	case n == 2 && label[0] == "sqs":
		return label[1], true
	case n == 2 && label[0] == "sqs-fips":
		return label[1], false
	case n > 3 && label[n-1] == "vpce" && (label[n-3] == "sqs" || label[n-3] == "sqs-fips"):
		return label[n-2], false
	}
	return "", false
}

// LocalStack ends the hosts of the URLs that LocalStack gives its queues, all of which are this
// machine. Like AWS's they have the region, which it reads in the signatures of calls.
const LocalStack = ".localhost.localstack.cloud"

// Of returns the region of a queue's URL or ARN, and the endpoint to call if it is not the
// client's default for the region: a VPC endpoint, FIPS, dual stack, or a server that is
// not AWS, whose region is "" then. Both are empty for a queue's name.
func Of(queue string) (region, base string) {
	if arn, err := ParseARN(queue); err == nil {
		return arn.Region, ""
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return "", ""
	}
	host := u.Hostname()
	region, usual := ofAWS(host)
	if usual {
		return region, ""
	}
	if rest, ok := strings.CutSuffix(host, LocalStack); ok {
		region, _ = inLabels(strings.Split(rest, "."))
	}
	return region, u.Scheme + "://" + u.Host
}

// Default returns an option with which a client calls base, as [Of] returns it, unless its
// configuration names an endpoint: AWS_ENDPOINT_URL_SQS, for example. "" changes nothing.
func Default(base string) func(*sqs.Options) {
	return func(o *sqs.Options) {
		if o.BaseEndpoint != nil || base == "" {
			return
		}
		o.BaseEndpoint = &base
		// The host is already dual-stack or FIPS if it should be; the SDK refuses the
		// options together with a host.
		o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateDisabled
		o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateDisabled
	}
}

// ARN is arn:PARTITION:sqs:REGION:ACCOUNT:NAME.
type ARN struct{ Region, Account, Name string }

// ParseARN parses a queue's ARN, which may be from a message: its region can become a part of a
// host's name, and its account and name that of a path. Its error shows the form that an ARN
// must have.
func ParseARN(s string) (ARN, error) {
	part := strings.Split(s, ":")
	if len(part) != 6 || part[0] != "arn" || part[2] != "sqs" || part[3] == "" || part[4] == "" || part[5] == "" ||
		strings.ContainsFunc(part[3], notOfRegion) || strings.ContainsFunc(s, notOfPath) {
		return ARN{}, fmt.Errorf("%q is not a queue's ARN (arn:aws:sqs:REGION:ACCOUNT:NAME)", s)
	}
	return ARN{Region: part[3], Account: part[4], Name: part[5]}, nil
}

// notOfRegion reports whether a character is in no region's name.
func notOfRegion(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

// notOfPath reports whether a character would not be itself in a part of a URL's path.
func notOfPath(r rune) bool { return strings.ContainsRune(`/\?#% `, r) || !unicode.IsPrint(r) }

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
