package endpoint

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Setting returns what the first source of a configuration says that has the setting.
func Setting[Source, Value any](cfg *aws.Config, get func(Source, context.Context) (Value, bool, error)) (value Value) {
	for _, source := range cfg.ConfigSources {
		if s, has := source.(Source); has {
			if value, found, err := get(s, context.Background()); found && err == nil {
				return value
			}
		}
	}
	return value
}

// Configured returns the endpoint that a configuration has for a service, by its SDK id ("S3"), ""
// for none. It is found as the SDK does (AWS SDKs and Tools Reference Guide, "Service-specific
// endpoints").
func Configured(cfg *aws.Config, id string) string {
	base := aws.ToString(cfg.BaseEndpoint)
	_, general := os.LookupEnv("AWS_ENDPOINT_URL")
	_, own := os.LookupEnv("AWS_ENDPOINT_URL_" + strings.ToUpper(id))
	type ignoring interface {
		GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
	}
	if general && !own || Setting(cfg, ignoring.GetIgnoreConfiguredEndpoints) {
		return base
	}
	type configured interface {
		GetServiceBaseEndpoint(ctx context.Context, service string) (string, bool, error)
	}
	return cmp.Or(Setting(cfg, func(c configured, ctx context.Context) (string, bool, error) {
		return c.GetServiceBaseEndpoint(ctx, id)
	}), base)
}

// FIPS reports whether a configuration asks for endpoints that are validated for FIPS 140.
func FIPS(cfg *aws.Config) bool {
	type fips interface {
		GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
	}
	return Setting(cfg, fips.GetUseFIPSEndpoint) == aws.FIPSEndpointStateEnabled
}
