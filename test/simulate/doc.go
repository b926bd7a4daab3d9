// Package simulate runs the toolkit through random histories, in virtual time,
// and checks after each what must hold whatever happens.
//
//	make simulate SEED=1 HISTORIES=10000
//
// A [Plan] is drawn from a seed: queues, messages, what the handler does at
// each attempt, how it is configured, faults of SQS, and when processes die.
// Half of the plans are for Lambda: the real handler.LambdaHandler under
// emulator/lambda. The other half are for the long-poll mode: one to three
// processes of longpoll.Poller over each queue, which are deployed, paused,
// shut down and killed. Both use emulator/sqs, inside a bubble of
// testing/synctest. Calls go wrong by the emulator's faults and by breaks (connection.go):
// connections that end, answers that break off or never come, calls that are refused
// as a whole. Hooks block, and up to 64 invocations share a process. Half of the plans
// have functions that are guarded by package idempotency (guard.go): their messages have
// copies, and all processes share a store whose calls fail, hang and are late,
// and in which processes die. [Run] carries a plan out and returns the [History]. [Check]
// reads that and returns what is wrong with it.
//
// [Shrink] makes the plan of a history that went wrong smaller, so that what
// is printed fits on a screen.
//
// A seed gives one history, byte for byte ([History.Text]), with each version of Go. The
// simulator lets one thing happen at a time (turns.go), and all that is random in the toolkit and
// in the emulators is drawn from crypto/rand, which a run seeds. So a process runs one history at a
// time. It has one processor: with several the toolkit's own goroutines could overtake each other
// between two turns.
//
// That the checks see what they should is shown by mutants: handlers,
// connections and pollers with one thing broken, each of which must be caught
// by the invariant that it violates (mutants_test.go).
//
// Read in this order: plan.go, connection.go and guard.go, run.go, turns.go, environment.go, lambda.go
// and poll.go (what is done), history.go (what is known of it), check.go and check_*.go. Where
// the modes differ, a check has a function for each.
package simulate
