// Package dlq is the command `sqsbatch dlq`: what a team does with a dead-letter queue.
//
//	sqsbatch dlq stats orders-dead
//	sqsbatch dlq replay orders-dead --reason 'no such customer' --yes
//
// A verb is a session (session.go) with its flags (options.go). It receives the messages of the
// queue once (scan.go), holds them meanwhile so that nothing comes twice and gives them back at
// its end (hold.go), and acts on those that are selected (pick.go). replay and move (replay.go)
// send and delete (transfer.go), to the queue that each message came from (route.go); or they
// have SQS do it (task.go). What they and import send goes through a sender (sender.go), which
// notes each step in a journal (package journal). Package letter is the message, package queue
// the calls.
package dlq

import (
	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// Command is `sqsbatch dlq`. Its verb try builds functions with builder.
func Command(tio cli.IO, builder build.Builder) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "look into a dead-letter queue, and recover its messages",
		Long:  about,
		Example: `sqsbatch dlq stats orders-dead
sqsbatch dlq show orders-dead --limit 3
sqsbatch dlq replay orders-dead --reason 'no such customer' --yes`,
	}
	cmd.AddCommand(statsCommand(tio), showCommand(tio), exportCommand(tio), importCommand(tio),
		tryCommand(tio, builder), replayCommand(tio), moveCommand(tio), deleteCommand(tio))
	for _, verb := range cmd.Commands() {
		cli.Notes(verb, exitStatus)
		if verb.Args == nil {
			verb.Args, verb.ValidArgsFunction = cobra.ExactArgs(1), cobra.NoFileCompletions
		}
	}
	cli.Notes(cmd, notes+"\n\n"+exitStatus)
	return cmd
}

const about = `Looks into a dead-letter queue, and recovers its messages: counts them by reason, shows them, writes them to a file, sends them back to the queues that they came from, moves or deletes them. It works with every SQS queue that the AWS configuration reaches, whatever program consumes it, and with 'sqsbatch sqs'.

replay, move, delete and import only say what they would do, unless --yes is given.`

const aboutStats = `Counts the messages of a queue: how many, how old, when SQS deletes them, in groups by the reason for which they failed, and in a plot over time. The messages are received, and made visible again.`

const aboutShow = `Shows messages with their bodies: JSON indented, SNS notifications and EventBridge events opened, binary attributes in hexadecimal. The messages are received, and made visible again.`

const aboutExport = `Writes messages to a file, a line of JSON each: body, attributes with their types, and what SQS says of the message. It has the form in which 'aws sqs receive-message' prints one message. The messages are received, and made visible again. 'sqsbatch dlq import' sends them again, and 'sqsbatch local --event FILE' runs them through a function.`

const aboutImport = `Sends the messages of a file that export wrote. Body, attributes, message group and deduplication id are those of the file, byte for byte. A FIFO queue drops a message whose deduplication id it has seen in the last five minutes, without an error. FILE may be compressed by gzip; - is standard input.`

const aboutTry = `Runs messages through the function on this machine, each once, and says which of them would succeed now. The messages are copied: they stay in the queue, and nothing is sent to AWS by this command. But the function really runs, with whatever it calls besides SQS.

The package is the function's, as for 'sqsbatch local'.`

const aboutReplay = `Sends messages back to the queues that they came from, and deletes them from the dead-letter queue. Their attempts begin at 1 again, and the attribute that sqsbatch added is removed. A message is deleted only after SQS has confirmed its copy. Messages that come to the dead-letter queue after the command began are left, because they may be messages that it sent and that failed again.

If nothing is selected or changed, SQS does it itself by a message move task (see --by).`

const aboutMove = `Moves messages to another queue as they are. A message is deleted only after SQS has confirmed its copy.

If nothing is selected, SQS does it itself by a message move task (see --by).`

const aboutDelete = `Deletes messages for good. To delete all of a queue, keep a copy with --save.`

const notes = `## The queue

QUEUE is a name, URL or ARN. Region, credentials and endpoint are found as the AWS CLI finds them. Without a configured endpoint, a URL is called at its host. Other queues are called where QUEUE is, unless they are given by URLs too, or QUEUE is at an endpoint of AWS for another region. A server on this machine needs no credentials.

SQS says from which queue it moved a message. A message that sqsbatch sent says so itself, in its attribute, and anyone who may send can write that. So it is believed only if SQS lists the queue as a source of this dead-letter queue, or if --origin has its whole ARN. No other queue is called because of a message. The reason of a message that SQS moved is not shown: its attribute is from before.

A queue that does not answer for 20 seconds, or refuses what is sent to it, keeps its own messages where they are; the others go on.

## Receiving

Every message that a command looks at is received: its receive count goes up by one, and it is hidden from other readers until the command ends, or for two minutes if the command is killed. A queue with a dead-letter queue of its own is refused, unless --force is given, because SQS would move messages that were received too often.

SQS returns no more messages of a FIFO group while the first of them are held. The output says how many messages could not be seen. replay and move take a message of a FIFO group only if they take all that come before it.

## Selecting

The jq program of --where reads an object with: id, body (the parsed JSON, or else the text), text (the body as it is), attributes (strings, numbers, and binary values in base64), reason, age (seconds since it was sent), receives, source (ARN), sourceName, queue, group, sent, firstReceived and failedAt. A message is selected if the first output is neither false nor null.

--since and --until compare the time when sqsbatch dead-lettered the message, or else the time when it was first received.

## Interruptions

The first Ctrl-C finishes what is in hand, makes the rest visible and says what is where; a second one stops at once.

replay, move and import note each step in a journal. After an interruption or a kill, --resume goes on: what was sent is not sent again. If the command was killed during a call, the messages of that call may have been sent. They are sent again, and the output names them. A FIFO queue drops the second copy within five minutes. Messages that the killed command has hidden come back within about two minutes; --resume says until when it waits for them.`

const exitStatus = `## Exit status

0: everything was done. 1: the command failed. 2: the command line is wrong. 3: some messages were left, could not be seen, may have been sent twice, or would fail (try); the output says which. 130: it was interrupted.`
