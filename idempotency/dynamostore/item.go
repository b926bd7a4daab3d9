package dynamostore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

// values are the values of an item by attribute, or of an expression by placeholder.
type values = map[string]types.AttributeValue

// key returns the primary key of an item.
func (s *Store) key(key string) values {
	if s.options.SortKey == "" {
		return values{s.options.Key: text(key)}
	}
	return values{s.options.Key: text(s.options.Partition), s.options.SortKey: text(key)}
}

// found returns the result of a refused claim from the existing item.
func (s *Store) found(old values, now time.Time, c *idempotency.Claim) (idempotency.Found, error) {
	if len(old) == 0 {
		return idempotency.Found{}, errors.New("the claim was refused and the answer has no item: the server does not support ReturnValuesOnConditionCheckFailure")
	}
	switch status := s.text(old, "#status"); status {
	case completed:
		result, err := s.result(old)
		return idempotency.Found{State: idempotency.Completed, Result: result, Content: s.text(old, "#validation")}, err
	case inProgress:
		if s.text(old, "#owner") == c.Owner {
			return idempotency.Found{State: idempotency.Claimed}, nil
		}
		return idempotency.Found{State: idempotency.InProgress, Left: s.left(old, now), Content: s.text(old, "#validation")}, nil
	default:
		return idempotency.Found{}, fmt.Errorf("the item's attribute %q is %q, must be INPROGRESS or COMPLETED: does another program write to the table?", s.options.Status, status)
	}
}

// left returns the time until another worker's claim ends. A claim of Powertools without a
// deadline has no end, and lasts until the item expires.
func (s *Store) left(old values, now time.Time) time.Duration {
	if ms, ok := s.number(old, "#ends"); ok {
		return max(0, time.UnixMilli(ms).Sub(now))
	}
	expiration, _ := s.number(old, "#expiration")
	return max(0, time.Unix(expiration, 0).Sub(now))
}

// result returns the result of a completion.
func (s *Store) result(old values) ([]byte, error) {
	switch v := old[s.options.Data].(type) {
	case nil:
		return nil, nil
	case *types.AttributeValueMemberS:
		return []byte(v.Value), nil
	case *types.AttributeValueMemberB:
		if v.Value == nil {
			return []byte{}, nil
		}
		return v.Value, nil
	default:
		var result []byte
		native, err := native(v)
		if err == nil {
			result, err = json.Marshal(native)
		}
		if err != nil {
			return nil, fmt.Errorf("the item's attribute %q %w: does another program write to the table?", s.options.Data, err)
		}
		return result, nil
	}
}

// native returns a value for encoding/json. Powertools for TypeScript stores results in
// DynamoDB's own types instead of JSON.
func native(value types.AttributeValue) (any, error) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, nil
	case *types.AttributeValueMemberN:
		return json.Number(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberNULL:
		return nil, nil
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, element := range v.Value {
			var err error
			if list[i], err = native(element); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *types.AttributeValueMemberM:
		object := make(map[string]any, len(v.Value))
		for name, element := range v.Value {
			var err error
			if object[name], err = native(element); err != nil {
				return nil, err
			}
		}
		return object, nil
	default:
		return nil, errors.New("has a set or binary, which has no form in JSON")
	}
}

// text returns the value of a string attribute; "" for other types.
func (s *Store) text(item values, placeholder string) string {
	if v, ok := item[s.names[placeholder]].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (s *Store) number(item values, placeholder string) (int64, bool) {
	v, ok := item[s.names[placeholder]].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	return n, err == nil
}

// data returns a result as a string, as Powertools does, or as binary if it is not UTF-8.
func data(result []byte) types.AttributeValue {
	if utf8.Valid(result) {
		return text(string(result))
	}
	return &types.AttributeValueMemberB{Value: result}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Ends are rounded up, and the current time, with which they are compared, is rounded down, so
// that no worker takes over too early.

func milliseconds(t time.Time) types.AttributeValue {
	return number(t.Add(time.Millisecond - 1).UnixMilli())
}

func flooredMilliseconds(t time.Time) types.AttributeValue { return number(t.UnixMilli()) }

func seconds(t time.Time) types.AttributeValue { return number(t.Add(time.Second - 1).Unix()) }

func wholeSeconds(d time.Duration) types.AttributeValue {
	return number(int64((d + time.Second - 1) / time.Second))
}

// fraction returns a time in seconds, with milliseconds, so that an item is forgotten at most a
// second late.
func fraction(t time.Time) types.AttributeValue {
	ms := t.UnixMilli()
	return &types.AttributeValueMemberN{Value: fmt.Sprintf("%d.%03d", ms/1000, ms%1000)}
}
