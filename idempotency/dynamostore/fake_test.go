package dynamostore_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// fakeDynamoDB answers the three calls of a store in the same process, for the real client.
// It evaluates the expressions of package dynamostore and refuses what it does not know. All
// tests that use it run against DynamoDB Local, too, see flag dynamodb.
type fakeDynamoDB struct {
	key []string // the attributes of the primary key

	mu    sync.Mutex
	items map[string]attributes
	calls []string // operations
}

func newFake() *fakeDynamoDB {
	return &fakeDynamoDB{key: []string{"id"}, items: map[string]attributes{}}
}

// attributes are {"name": {"S": "value"}}.
type attributes map[string]map[string]any

// clientOf is AWS's client over a transport.
func clientOf(transport http.RoundTripper, endpoint string, options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(endpoint), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, options...)
}

func (f *fakeDynamoDB) client() *dynamodb.Client { return clientOf(f, "http://dynamodb.test") }

func (f *fakeDynamoDB) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, answer := f.answer(operation, sent)
	body, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, err
}

// request has the members of all three calls.
type request struct {
	TableName                           string
	Item, Key                           attributes
	ConditionExpression                 string
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           map[string]map[string]any
	ReturnValuesOnConditionCheckFailure string
}

func (f *fakeDynamoDB) answer(operation string, body []byte) (int, any) {
	var r request
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return invalid("%v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, operation)
	key := r.Key
	if operation == "PutItem" {
		key = r.Item
	}
	id, err := f.id(key)
	if err != nil {
		return invalid("%v", err)
	}
	old := f.items[id]
	e := expression{item: old, names: r.ExpressionAttributeNames, values: r.ExpressionAttributeValues}
	holds, err := e.condition(r.ConditionExpression)
	if err != nil {
		return invalid("%v", err)
	}
	item := r.Item
	if operation == "UpdateItem" {
		if item, err = e.update(r.UpdateExpression, key); err != nil {
			return invalid("%v", err)
		}
	}
	if err := e.unused(r.ConditionExpression + " " + r.UpdateExpression); err != nil {
		return invalid("%v", err)
	}
	if !holds {
		failed := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "The conditional request failed"}
		if r.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && old != nil {
			failed["Item"] = old
		}
		return http.StatusBadRequest, failed
	}
	if size(item) > 400<<10 {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	if delete(f.items, id); operation != "DeleteItem" {
		f.items[id] = item
	}
	return http.StatusOK, struct{}{}
}

func invalid(format string, args ...any) (int, any) {
	return http.StatusBadRequest, map[string]string{"__type": "com.amazon.coral.validate#ValidationException", "message": fmt.Sprintf(format, args...)}
}

// id is what an item is found by.
func (f *fakeDynamoDB) id(key attributes) (string, error) {
	var parts []string
	for i, name := range f.key {
		s, _ := key[name]["S"].(string)
		if most := []int{2048, 1024}[i]; s == "" || len(s) > most {
			return "", fmt.Errorf("one or more parameter values are not valid: the key %s has %d bytes", name, len(s))
		}
		parts = append(parts, fmt.Sprintf("%q", s))
	}
	return strings.Join(parts, " "), nil
}

// size is about what an item counts for.
func size(item attributes) (n int) {
	for name, typed := range item {
		n += len(name)
		for kind, v := range typed {
			s, _ := v.(string)
			if kind == "B" {
				n += base64.StdEncoding.DecodedLen(len(s))
			} else {
				n += len(s)
			}
		}
	}
	return n
}
