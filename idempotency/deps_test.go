package idempotency_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Only a function that imports a store links what the store needs: AWS's client of DynamoDB or
// database/sql. Drivers and clients of the other stores are the program's.
func TestLinkedPackages(t *testing.T) {
	const dynamo, sql = "github.com/aws/aws-sdk-go-v2/service/dynamodb", "database/sql"
	drivers := []string{"github.com/jackc/", "modernc.org/", "github.com/redis/", "github.com/valkey-io/", "github.com/anishathalye/"}
	for pkg, forbidden := range map[string][]string{
		".": {dynamo, sql}, "../handler": {dynamo, sql}, "../batch": {dynamo, sql},
		"./dynamostore": {sql}, "./sqlstore": {dynamo}, "./redisstore": {dynamo, sql}, "./storetest": {dynamo, sql},
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil || len(out) == 0 {
			t.Fatal(pkg, ": ", err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, prefix := range append(drivers, forbidden...) {
				if strings.HasPrefix(dep, prefix) {
					t.Errorf("%s links %s", pkg, dep)
				}
			}
		}
	}
}
