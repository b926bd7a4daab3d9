// Package awscli gives the integration checks boto3 and the AWS CLI of known
// versions, in one Python environment that they share.
package awscli

import (
	"context"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
)

// The releases that the checks were written against.
const (
	Boto3   = "1.44.5"
	Version = "1.46.3"
)

// Install returns the environment. The CLI is its module awscli.
func Install(ctx context.Context) (*pyenv.Env, error) {
	return pyenv.Install(ctx, "boto3-"+Boto3+"-awscli-"+Version, "boto3=="+Boto3, "awscli=="+Version)
}
