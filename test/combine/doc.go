// Package combine runs functions that several packages of the toolkit go around, in random
// combinations of up to three, through random histories in virtual time. It checks the promises of
// all of them together: each package alone may keep its promise, and two may break it.
//
//	go test ./test/combine -run '^TestCombine$' -count=1 -args -seed=1 -histories=2000
//
// A [Plan] is drawn from a seed: the packages and their order, the mode (Lambda or long poll), the
// kind of queue, messages with copies, what the function does at each attempt, faults of SQS, of S3
// and of the idempotency store, and when processes die. [Run] carries it out with emulator/sqs and
// emulator/lambda, and returns a [History], which is one list of what happened. [Check] goes through
// that list once.
//
// [parts] has the packages, and [wrong] the orders of two that break a promise, with the promise.
// Histories never draw those, and combine_test.go shows that each is caught. The page
// docs/combining.md says the same to users, and a test compares the two.
//
// Unlike test/simulate, which this does not replace, nothing here is about times: backoffs,
// deadlines and the number of calls are checked there, with one package at a time.
package combine
