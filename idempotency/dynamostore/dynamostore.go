// Package dynamostore is an [idempotency.Store] in a table of DynamoDB, shared by any number of
// Lambda functions and containers:
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	if err != nil { … }
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), "idempotency")
//	handler.Run(batch.Chain(batch.JSON(shipOrder), idempotency.New(store, idempotency.Config{
//		Key: idempotency.Field("id"),
//	})))
//
// # Table
//
// One table serves any number of functions: the prefix of a key keeps them apart, see
// [idempotency.Config.Prefix]. In CloudFormation:
//
//	IdempotencyTable:
//	  Type: AWS::DynamoDB::Table
//	  Properties:
//	    TableName: idempotency
//	    BillingMode: PAY_PER_REQUEST
//	    AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
//	    KeySchema: [{AttributeName: id, KeyType: HASH}]
//	    TimeToLiveSpecification: {AttributeName: expiration, Enabled: true}
//
// The role of the function needs only dynamodb:PutItem, dynamodb:UpdateItem and
// dynamodb:DeleteItem on the table. The table must be in one Region: claims reach the replicas
// of a global table with eventual consistency too late.
//
// # Items
//
// Items have the attributes of AWS Powertools' idempotency, so its dashboards and scripts
// work. By default, keys differ from those of Powertools in the same table, since each of its
// languages forms keys in its own way: see [idempotency.PowertoolsPython] and
// [idempotency.PowertoolsTypeScript] for equal keys. [Config] sets other names for the attributes.
//
//	id                      S  the key
//	status                  S  INPROGRESS or COMPLETED
//	in_progress_expiration  N  when the claim ends, in milliseconds since 1970
//	expiration              N  when the item may be deleted, in seconds since 1970
//	data                    S  the result, if there is one; B if it is not UTF-8. Other types,
//	                           which Powertools for TypeScript writes, are read as JSON
//	validation              S  the digest of the content, if there is one
//	owner                   S  the claim's owner; not in items of Powertools
//	remember                N  seconds between the end of the claim and expiration
//
// DynamoDB deletes an item within days after its expiration. Until then the item counts as
// deleted. The expiration of a claim is never before its end.
//
// # Cost
//
// A new record costs two writes: a put and an update, or a put and a delete after a failure.
// A duplicate costs one refused put. Each renewal is one more update. DynamoDB bills one write
// unit for each KB of the item, also for refused writes. An item without a result has less than
// 1 KB unless its key is long. There are no reads.
//
// # Time
//
// Ends of claims are written and compared by the clocks of the workers, not of DynamoDB. A
// worker with a fast clock takes over too early, by the difference. The middleware adds
// [idempotency.Config.Grace] to each claim, so clocks may differ by Grace. Clocks on Lambda and
// on EC2 differ by milliseconds.
//
// # Failures
//
// The client retries calls that were throttled or not answered. To repeat a call whose answer
// was lost does no harm: the item names the owner. Calls end with their context. Errors name
// the operation and the table, never a key or a result.
package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Client is the part of AWS's *dynamodb.Client that a [Store] uses.
type Client interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Store is an [idempotency.Store] in a table. Make one with [New].
type Store struct {
	client  Client
	table   string
	options Config
	names   map[string]string // of attributes, by their placeholders in expressions
	err     error             // of the configuration
	now     func() time.Time
}

var _ idempotency.Store = (*Store)(nil)

// New returns a store in the table with a name or an ARN. It takes one Config at most, and
// makes no call. The program that runs the handler reports an invalid Config when it starts;
// every call returns the same error.
//
//	dynamostore.New(client, "idempotency", dynamostore.Config{Expiration: "ttl"})
func New(client Client, table string, cfg ...Config) *Store {
	o := wrapped.Last(cfg)
	o.complete()
	return &Store{client: client, table: table, options: o, names: o.names(), err: o.validate(client, table), now: time.Now}
}

// Validate returns an error that names every invalid field. The program that runs the handler
// calls it at the start.
func (s *Store) Validate() error { return s.err }

// The conditions of the calls. An expired item counts as deleted.
const (
	// A claim of the same owner is written again only if it then ends later: a late copy of
	// the request must not shorten a renewed claim.
	claimIf = "attribute_not_exists(#key) OR #expiration < :now OR " +
		"(#status = :in_progress AND (#ends < :now_ms OR (#owner = :owner AND #ends < :ends)))"
	renewIf    = "#owner = :owner AND #status = :in_progress AND #ends < :ends"
	completeIf = "#owner = :owner"
	releaseIf  = "#owner = :owner AND #status = :in_progress"
)

const (
	inProgress = "INPROGRESS"
	completed  = "COMPLETED"
)

// Claim implements [idempotency.Store] with one PutItem. A refused call returns the existing
// item.
func (s *Store) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	const operation = "PutItem"
	if err := s.check(c.Key); err != nil {
		return idempotency.Found{}, err
	}
	now := s.now()
	ends := now.Add(c.Lease)
	item := s.key(c.Key)
	for placeholder, value := range map[string]types.AttributeValue{
		"#status": text(inProgress), "#owner": text(c.Owner),
		"#ends": milliseconds(ends), "#expiration": seconds(ends.Add(c.Remember)), "#remember": wholeSeconds(c.Remember),
	} {
		item[s.names[placeholder]] = value
	}
	if c.Content != "" {
		item[s.options.Validation] = text(c.Content)
	}
	condition := claimIf
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: item, ConditionExpression: &condition, ExpressionAttributeNames: s.namesIn(condition),
		ExpressionAttributeValues: values{
			":now": fraction(now), ":now_ms": flooredMilliseconds(now), ":ends": milliseconds(ends),
			":in_progress": text(inProgress), ":owner": text(c.Owner),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	old, refused := refusal(err)
	switch {
	case err == nil:
		return idempotency.Found{State: idempotency.Claimed}, nil
	case !refused:
		return idempotency.Found{}, s.wrap(operation, err)
	}
	found, err := s.found(old, now, &c)
	if err != nil {
		return idempotency.Found{}, s.wrap(operation, err)
	}
	return found, nil
}

// Renew implements [idempotency.Store] with one UpdateItem.
func (s *Store) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	if err := s.check(key); err != nil {
		return err
	}
	ends := s.now().Add(lease)
	update, condition := "SET #ends = :ends, #expiration = :ends_seconds + #remember", renewIf
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: s.key(key), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: s.namesIn(update, condition),
		ExpressionAttributeValues: values{
			":ends": milliseconds(ends), ":ends_seconds": seconds(ends), ":in_progress": text(inProgress), ":owner": text(owner),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, refused := refusal(err); refused {
		if s.text(old, "#owner") == owner && s.text(old, "#status") == inProgress {
			return nil // an earlier try of this call took effect, or the claim lasts longer
		}
		return idempotency.ErrNotOwner
	}
	return s.wrap("UpdateItem", err)
}

// Complete implements [idempotency.Store] with one UpdateItem.
func (s *Store) Complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	if err := errors.Join(s.check(key), s.fits(key, &c)); err != nil {
		return err
	}
	update, condition := "SET #status = :completed, #expiration = :expiration", completeIf
	set := values{":completed": text(completed), ":expiration": seconds(s.now().Add(c.Remember)), ":owner": text(owner)}
	if c.Result != nil {
		update += ", #data = :data"
		set[":data"] = data(c.Result)
	}
	if c.Content != "" {
		update += ", #validation = :validation"
		set[":validation"] = text(c.Content)
	}
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: s.key(key), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: s.namesIn(update, condition), ExpressionAttributeValues: set,
	})
	if _, refused := refusal(err); refused {
		return idempotency.ErrNotOwner
	}
	return s.wrap("UpdateItem", err)
}

// Release implements [idempotency.Store] with one DeleteItem.
func (s *Store) Release(ctx context.Context, key, owner string) error {
	if err := s.check(key); err != nil {
		return err
	}
	condition := releaseIf
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: s.key(key), ConditionExpression: &condition, ExpressionAttributeNames: s.namesIn(condition),
		ExpressionAttributeValues:           values{":in_progress": text(inProgress), ":owner": text(owner)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, refused := refusal(err); refused {
		if len(old) == 0 {
			return nil // free: an earlier try of this call took effect
		}
		return idempotency.ErrNotOwner
	}
	return s.wrap("DeleteItem", err)
}

// check returns an error for an invalid configuration or key.
func (s *Store) check(key string) error {
	switch {
	case s.err != nil:
		return s.err
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("dynamostore: the key has %d bytes, must have 1 to %d", len(key), maxKey)
	case !utf8.ValidString(key):
		// The client would replace invalid bytes, and different keys would become the same.
		return errors.New("dynamostore: the key is not valid UTF-8")
	}
	return nil
}

const (
	// maxKey is DynamoDB's limit for a sort key, in bytes. A partition key may be longer.
	maxKey = 1024
	// maxItem is DynamoDB's limit for an item, in bytes.
	maxItem = 400 << 10
	// restOfItem is an upper bound for the attributes that fits does not count.
	restOfItem = 4 << 10
)

// fits returns an error for a completion that is too large for an item.
func (s *Store) fits(key string, c *idempotency.Completion) error {
	if size := len(key) + len(c.Result) + len(c.Content); size > maxItem-restOfItem {
		return fmt.Errorf("dynamostore: UpdateItem in table %q: the item is too large: the result has %d bytes, the content %d and the key %d, all of them may have %d",
			s.table, len(c.Result), len(c.Content), len(key), maxItem-restOfItem)
	}
	return nil
}

// wrap adds the operation and the table to err. It returns nil for nil.
func (s *Store) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dynamostore: %s in table %q: %w", operation, s.table, err)
}

// refusal reports whether a call was refused because its condition was false, and returns the
// existing item.
func refusal(err error) (old values, refused bool) {
	failed, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !refused {
		return nil, false
	}
	return failed.Item, true
}

// namesIn returns the names of the placeholders in expressions. DynamoDB refuses unused names.
func (s *Store) namesIn(expressions ...string) map[string]string {
	all, used := strings.Join(expressions, " "), map[string]string{}
	for placeholder, name := range s.names {
		if strings.Contains(all, placeholder) {
			used[placeholder] = name
		}
	}
	return used
}
