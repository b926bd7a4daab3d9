// Package sarif compares the SARIF of `sqsbatch lint` with the schema of OASIS.
//
// The files are those that the tests of the command compare its output with. The schema
// (SARIF 2.1.0 with errata 01) is in the source of github.com/owenrumney/go-sarif, which is
// why this is a module of its own.
package sarif
