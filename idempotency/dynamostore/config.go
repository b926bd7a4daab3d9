package dynamostore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Config has the names of a table's attributes, for an existing table. The defaults are those
// of AWS Powertools, whose parameter is in parentheses. The zero value has all defaults.
type Config struct {
	// Key is the table's partition key (key_attr). Defaults to "id".
	Key string

	// SortKey is the table's sort key (sort_key_attr), which has the keys instead of Key.
	// Defaults to none.
	SortKey string

	// Partition is the value of Key in all items (static_pk_value). Required with SortKey. One
	// partition supports 1,000 writes a second.
	Partition string

	// Expiration is the attribute of the table's TTL (expiry_attr). Defaults to "expiration".
	Expiration string

	// InProgressExpiration is the attribute of the claim's end (in_progress_expiry_attr).
	// Defaults to "in_progress_expiration".
	InProgressExpiration string

	// Status is the attribute with INPROGRESS or COMPLETED (status_attr). Defaults to
	// "status".
	Status string

	// Data is the attribute of the result (data_attr). Defaults to "data".
	Data string

	// Validation is the attribute of the content's digest (validation_key_attr). Defaults to
	// "validation".
	Validation string

	// Owner is the attribute of the claim's owner. Defaults to "owner".
	Owner string

	// Remember is the attribute of the number of seconds from the end of a claim to the
	// item's expiration. Defaults to "remember".
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

// names returns the attributes by placeholder. No placeholder is a prefix of another.
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
