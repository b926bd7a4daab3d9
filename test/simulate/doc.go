// Package simulate runs the toolkit's handler through random histories, in
// virtual time, and checks after each what must hold whatever happens.
//
//	make simulate SEED=1 HISTORIES=10000
//
// A [Plan] is drawn from a seed: queues, messages, what the handler does at
// each attempt, how the function and its event source mapping are configured,
// faults of SQS, and when environments die. [Run] carries it out with the real
// handler.LambdaHandler under emulator/lambda and emulator/sqs, inside a bubble
// of testing/synctest, and returns the [History]. [Check] reads that and
// returns what is wrong with it.
//
// [Shrink] makes the plan of a history that went wrong smaller, so that what
// is printed fits on a screen. Everything random is in the plan; what is left
// is the order in which goroutines run, so that a seed repeats nearly always.
//
// That the checks see what they should is shown by mutants: handlers and
// connections with one thing broken, each of which must be caught by the
// invariant that it violates (mutants_test.go).
//
// Read in this order: plan.go, run.go, lambda.go and environment.go (what is
// done), history.go (what is known of it), check.go and invariants_*.go.
package simulate
