package dynamostore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Config has the names of a table's attributes, for a table that is already there. The
// defaults are those of AWS Powertools, whose parameters for them are named behind each.
type Config struct {
	// Key is the table's partition key (key_attr). Defaults to "id".
	Key string

	// SortKey is the table's sort key (sort_key_attr), which then has the keys. Defaults to
	// none.
	SortKey string

	// Partition is the value of the partition key of all items, if there is a SortKey
	// (static_pk_value), and is required then. One partition takes 1,000 writes a second.
	Partition string

	// Expiration is the attribute of the table's TTL (expiry_attr). Defaults to "expiration".
	Expiration string

	// InProgressExpiration has when a claim ends (in_progress_expiry_attr). Defaults to
	// "in_progress_expiration".
	InProgressExpiration string

	// Status is INPROGRESS or COMPLETED (status_attr). Defaults to "status".
	Status string

	// Data has the result (data_attr). Defaults to "data".
	Data string

	// Validation has the content's digest (validation_key_attr). Defaults to "validation".
	Validation string

	// Owner names who has the claim. Defaults to "owner".
	Owner string

	// Remember has for how many seconds an item is kept after its claim has ended. Defaults
	// to "remember".
	Remember string
}

func (o *Config) complete() {
	o.Key = cmp.Or(o.Key, "id")
	o.Expiration = cmp.Or(o.Expiration, "expiration")
	o.InProgressExpiration = cmp.Or(o.InProgressExpiration, "in_progress_expiration")
	o.Status = cmp.Or(o.Status, "status")
	o.Data = cmp.Or(o.Data, "data")
	o.Validation = cmp.Or(o.Validation, "validation")
	o.Owner = cmp.Or(o.Owner, "owner")
	o.Remember = cmp.Or(o.Remember, "remember")
}

// names are the attributes by their placeholders, none of which begins another.
func (o *Config) names() map[string]string {
	return map[string]string{
		"#key": o.Key, "#expiration": o.Expiration, "#ends": o.InProgressExpiration, "#status": o.Status,
		"#data": o.Data, "#validation": o.Validation, "#owner": o.Owner, "#remember": o.Remember,
	}
}

func (o *Config) validate(client Client, table string) error {
	var errs []error
	if wrapped.IsNilPointer(client) {
		errs = append(errs, errors.New("dynamostore: the client is nil: pass a *dynamodb.Client"))
	}
	if table == "" {
		errs = append(errs, errors.New("dynamostore: the name of the table is empty"))
	}
	if (o.SortKey == "") != (o.Partition == "") {
		errs = append(errs, fmt.Errorf("dynamostore: SortKey is %q and Partition is %q: set both or none", o.SortKey, o.Partition))
	}
	names := append(slices.Collect(maps.Values(o.names())), o.SortKey)
	slices.Sort(names)
	for i, name := range names[1:] {
		if name == names[i] {
			errs = append(errs, fmt.Errorf("dynamostore: two attributes have the name %q", name))
		}
	}
	return errors.Join(errs...)
}
