package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// checkDynamoDB holds idempotency/dynamostore against AWS's DynamoDB Local: the suite for
// stores, the histories that porcupine checks, and records before, while and after the server is
// killed. Functions with Powertools for AWS Lambda, in Python and TypeScript, share a table with
// ours.
//
// It needs Java 17 or newer, and on the first use Maven and Maven Central. Powertools needs Python 3
// with its venv module, and on the first use PyPI and npm's registry.
//
// The error of the start wraps ErrNotRun, because only what this machine
// does not have can fail there.
func checkDynamoDB(ctx context.Context, s *tools.Stage) error {
	address, err := harness.FreeAddress() // DynamoDB Local cannot choose a port by itself
	if err != nil {
		return err
	}
	local, err := harness.StartDynamoDB(ctx, address, "")
	if err != nil {
		return fmt.Errorf("%w: %w", tools.ErrNotRun, err)
	}
	defer func() { _ = local.Stop() }()
	w := &world{stage: s, url: local.URL}
	s.Step("the tests of idempotency/dynamostore", func() error { return w.test(ctx) })
	s.Step("DynamoDB Local is killed", func() error { return killDynamoDB(ctx, s) })
	s.Step("Powertools for Python "+powertoolsPython, func() error { return w.shareWithPython(ctx) })
	s.Step("Powertools for TypeScript "+powertoolsTypeScript, func() error { return w.shareWithTypeScript(ctx) })
	s.Step("batches of ten, and Powertools for Python", func() error { return w.cost(ctx) })
	return nil
}

// world is what the steps share.
type world struct {
	stage *tools.Stage
	url   string // of DynamoDB Local
}

// test runs the tests of the package, which run against a real server if it is named.
func (w *world) test(ctx context.Context) error {
	out, err := w.stage.Go(ctx, w.stage.Root, "test", "-count=1", "-v", "-timeout=5m", "./idempotency/dynamostore", "-args", "-dynamodb="+w.url)
	if err != nil {
		return err
	}
	passed := strings.Count(out, "--- PASS: TestStore/idempotency_in_DynamoDB_Local/") + strings.Count(out, "--- PASS: TestStore/idempotency-sorted_in_DynamoDB_Local/")
	if passed < 50 || !strings.Contains(out, "--- PASS: TestHistories/DynamoDB_Local") {
		return fmt.Errorf("only %d tests of the suite were run against DynamoDB Local, or no histories", passed)
	}
	fmt.Printf("%d tests of the suite, and histories\n", passed)
	return nil
}

// createTable makes a table as the template does, if it is not there.
func (w *world) createTable(ctx context.Context, name string) {
	_, err := w.client().CreateTable(ctx, &awsdynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if _, there := errors.AsType[*types.ResourceInUseException](err); !there {
		must.Do(err)
	}
}

// client is one of DynamoDB Local.
func (w *world) client(options ...func(*awsdynamodb.Options)) *awsdynamodb.Client {
	return awsdynamodb.New(awsdynamodb.Options{Region: "us-east-1", BaseEndpoint: &w.url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}, options...)
}
