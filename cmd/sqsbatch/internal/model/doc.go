// Package model computes what becomes of a queue and its consumers over hours: backlog, retries, dead
// letters, alarms and cost. It is a simulation of discrete events. One goroutine takes the next event
// off a heap and never waits, so hours take seconds.
//
// The rules of SQS and Lambda are those of emulator/sqs and emulator/lambda, and the toolkit's own
// functions decide what the toolkit would do: when a record comes back (internal/settle), what is
// started and when it is cut (internal/runner), what a container receives (internal/longpoll). A test
// compares the model with all of these in virtual time.
package model
