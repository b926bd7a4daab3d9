package sns_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

func ExampleUnwrap() {
	type order struct{ ID string }
	h := sns.Unwrap(batch.JSON(func(ctx context.Context, o order) error {
		n, _ := sns.From(ctx)
		r, _ := batch.RecordFrom(ctx)
		fmt.Printf("%s of %q, %s\n", o.ID, n.Subject, r.MessageAttributes["kind"].StringValue)
		return nil
	}))
	// This is what main gives to handler.Run, and SQS to the function.
	body := `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:orders",
		"Subject":"orders","Message":"{\"ID\":\"o-1\"}","Timestamp":"2026-11-21T05:12:16.901Z",
		"MessageAttributes":{"kind":{"Type":"String","Value":"rush"}}}`
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: body}))
	// Output:
	// o-1 of "orders", rush
	// <nil>
}
