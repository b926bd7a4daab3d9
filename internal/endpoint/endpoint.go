// Package endpoint reads what a queue's URL says of where it is.
package endpoint

import (
	"net/url"
	"strings"
)

// Region returns the region in the host of a queue's URL, or "" when the host
// is not one of AWS's: sqs.REGION.amazonaws.com and its kind, or
// REGION.queue.amazonaws.com of old.
func Region(host string) string {
	part := strings.Split(host, ".")
	switch {
	case len(part) > 3 && (part[0] == "sqs" || part[0] == "sqs-fips"):
		return part[1]
	case len(part) > 3 && part[1] == "queue":
		return part[0]
	}
	return ""
}

// Of returns the region of a queue's URL, or, when its host is not one of
// AWS's, the endpoint to call it at. Both are empty for a queue's name.
func Of(queueURL string) (region, base string) {
	u, err := url.Parse(queueURL)
	if err != nil || u.Host == "" {
		return "", ""
	}
	if region = Region(u.Hostname()); region != "" {
		return region, ""
	}
	return "", u.Scheme + "://" + u.Host
}
