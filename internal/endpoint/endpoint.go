// Package endpoint derives the region and the endpoint of a queue from its URL or ARN.
package endpoint

import (
	"net/url"
	"strings"
)

// partition is a group of AWS regions with its own domains, see "Amazon Simple Queue
// Service endpoints and quotas" in the AWS General Reference, and the partitions of the AWS
// SDK.
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
func PartitionOf(region string) string {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p.name
		}
	}
	return "" // cannot happen: the last has every prefix
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

// localStack ends the names that LocalStack gives its queues; like AWS's they
// have the region, which it reads in the signatures of calls.
const localStack = ".localhost.localstack.cloud"

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
	if rest, ok := strings.CutSuffix(host, localStack); ok {
		region, _ = inLabels(strings.Split(rest, "."))
	}
	return region, u.Scheme + "://" + u.Host
}
