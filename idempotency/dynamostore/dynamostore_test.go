package dynamostore_test

import (
	"errors"
	"flag"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/idempotency/storetest"
	"go.uber.org/goleak"
)

// The tests of stores run against the fake, and against a real server, if it is named:
//
//	go run ./test/compat dynamodb
var endpoint = flag.String("dynamodb", "", "the URL of DynamoDB Local, to run the tests against it, too")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tables of the real server, by the attributes of their keys.
const (
	plainTable  = "idempotency"
	sortedTable = "idempotency-sorted"
)

// sorted is for a table with a sort key and names of its own.
var sorted = dynamostore.Config{
	Key: "pk", SortKey: "sk", Partition: "idempotency#orders", Expiration: "ttl", InProgressExpiration: "lease",
	Status: "state", Data: "result", Validation: "hash", Owner: "holder", Remember: "keep",
}

// server is where tables are.
type server struct {
	name      string
	transport func() http.RoundTripper // of a new empty server, if it is the fake
	endpoint  string
	backoff   time.Duration // between tries of the client
	test      func(t *testing.T, body func(t *testing.T))
}

func fake(key ...string) server {
	return server{name: "fake", endpoint: "http://dynamodb.test", backoff: time.Second, test: synctest.Test, transport: func() http.RoundTripper {
		f := newFake()
		f.key = key
		return f
	}}
}

// local is DynamoDB Local, with its tables.
func local(t *testing.T) server {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	t.Cleanup(transport.CloseIdleConnections)
	s := server{name: "DynamoDB Local", endpoint: *endpoint, backoff: 50 * time.Millisecond}
	s.transport = func() http.RoundTripper { return transport }
	client := clientOf(transport, *endpoint)
	for table, keys := range map[string][]string{plainTable: {"id"}, sortedTable: {"pk", "sk"}} {
		in := &dynamodb.CreateTableInput{TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest}
		for i, key := range keys {
			kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
			in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(key), KeyType: kind})
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS})
		}
		if _, err := client.CreateTable(t.Context(), in); err != nil {
			if _, there := errors.AsType[*types.ResourceInUseException](err); !there {
				t.Fatalf("create table %s: %v", table, err)
			}
		}
	}
	return s
}

// servers are the fake, and the real one if it is named.
func servers(t *testing.T, key ...string) []server {
	t.Helper()
	list := []server{fake(key...)}
	if *endpoint != "" {
		list = append(list, local(t))
	}
	return list
}

func TestStore(t *testing.T) {
	for _, table := range []struct {
		name   string
		keys   []string
		config dynamostore.Config
	}{{plainTable, []string{"id"}, dynamostore.Config{}}, {sortedTable, []string{"pk", "sk"}, sorted}} {
		for _, server := range servers(t, table.keys...) {
			t.Run(table.name+" in "+server.name, func(t *testing.T) {
				storetest.RunWith(t, func(*testing.T) idempotency.Store {
					return dynamostore.New(clientOf(server.transport(), server.endpoint), table.name, table.config)
				}, storetest.Config{Test: server.test})
			})
		}
	}
}
