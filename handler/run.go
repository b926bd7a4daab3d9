package handler

import (
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/sqsbatch/sqsbatch/batch"
)

// Run handles records by h until the process ends, configured by the
// environment. It is all that a main function needs:
//
//	func main() { handler.Run(batch.JSON(shipOrder)) }
//
// It does not return. When the configuration is wrong or the process is not
// running on Lambda, it says so on standard error and exits with status 1.
func Run(h batch.Handler) { RunWith(h, Config{}) }

// RunWith is [Run] with a configuration in code. What it leaves zero comes
// from the environment.
func RunWith(h batch.Handler, cfg Config) {
	l, err := New(h, cfg)
	if err == nil && os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		err = errNotOnLambda
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sqsbatch: %v\n", err)
		os.Exit(1)
	}
	lambda.Start(l)
}

var errNotOnLambda = errors.New(`this program is an AWS Lambda function, and this is not Lambda (AWS_LAMBDA_RUNTIME_API is not set).
To try it on this machine, with an embedded SQS and Lambda, run in its module:
	go run github.com/sqsbatch/sqsbatch/cmd/sqsbatch@latest local .
or, where Docker is at hand:
	sam build && sam local invoke -e EVENT.json`)
