// Package migrating is nothing but its folders: each is a function of a common
// shape as it stands after moving to sqsbatch. The pages of docs/migrating show
// them with what they were before.
package migrating
