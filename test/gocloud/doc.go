// Package gocloud runs the conformance tests of gocloud.dev's pubsub with its
// driver for SQS against emulator/sqs. It has tests only.
//
// The driver is what Go programs use that say pubsub.OpenTopic("awssqs://…");
// the tests say what it must do on AWS. A module of its own, because the
// toolkit does not depend on gocloud.dev.
package gocloud
