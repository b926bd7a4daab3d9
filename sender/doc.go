// Package sender sends messages to a queue in batches. It packs messages of many goroutines
// into calls of ten, retries failures, and reports a [Result] for every message.
//
//	s, err := sender.New(client, sender.Config{Queue: "orders"}) // a name, a URL or an ARN
//	...
//	err = s.Send(ctx, sender.JSON(order)) // returns when SQS has confirmed this message
//	...
//	left := s.Close(ctx) // sends buffered messages; left are the results of unsent ones
//
// [Sender.Enqueue] does not wait for SQS: it calls a function with the result later.
//
// # In a handler
//
// [Sender.SendWithRecord] does not wait either. With [Sender.Wrap], the record succeeds only
// after SQS has confirmed all messages of its handler:
//
//	handler.Run(batch.Chain(batch.JSON(shipOrder), mails.Wrap))
//
//	func shipOrder(ctx context.Context, o Order) error {
//		…
//		return mails.SendWithRecord(ctx, sender.JSON(Mail{To: o.Customer}))
//	}
//
// If a message is not confirmed by the record's deadline, the record fails, and SQS delivers
// it again. Nothing is sent after that, except by a call in flight. The next delivery sends
// the messages again, as every consumer of SQS must expect.
//
// Messages that are sent with the context of a record carry its AWSTraceHeader, and its
// correlation id if [Config.CorrelationAttribute] is set.
//
// # When a call is made
//
// A call has up to ten messages and 1 MiB, the limits of SQS. It is made as soon as it is
// full, or [Config].Linger after its first message came. A message that comes after a pause
// does not linger. So a sender that is hardly used adds no latency, and a busy one makes
// full calls.
//
// # Failures
//
// Every message has its own result. A message that breaks a rule of SQS fails at once with
// a [MessageError], and does not reach a call. A message that SQS refuses fails alone: if
// SQS refuses a call as a whole, its halves are sent again, down to single messages.
//
// Other failures are throttling, internal errors of SQS, and missing answers. They are retried
// with backoff and jitter until the message is confirmed, the context of Send ends, or Close
// gives the message up. Until SQS recovers, the sender makes fewer calls at a time, in the
// end one every few seconds.
//
// A try may have sent the message although it failed, if SQS did not answer or had an
// internal error. On a standard queue, the next try can then be a second copy. Consumers of
// a standard queue must expect copies anyway. If a message fails after such a try, its
// result says so ([Result].MayHaveBeenSent).
//
// # FIFO queues
//
// One message of a group is in flight at a time, and its retries come before the next
// message, so the order of a group is the order of the calls of Enqueue. A group sends one
// message for each round trip to SQS; a call has messages of up to ten groups.
//
// A message without deduplication id gets a random one, once. So retries do not send it
// twice within the five minutes of SQS's deduplication. A message that may have been sent
// is not tried after that time, and fails with [ErrTooLate].
//
// If a message of a group fails, the messages that wait behind it fail too, with
// [ErrGroupFailed]. Later messages of the group are sent. To keep the order, send the failed
// ones again before you send others. A Send whose context ends is not a failure in this
// sense: the messages behind it are sent.
//
// # Memory
//
// The buffer is limited by [Config].MaxBuffered and MaxBufferedBytes. While it is full, Send
// and Enqueue wait. So an outage of SQS slows callers down instead of using up memory.
//
// # At the end of the process
//
// Call [Sender.Close] after the last message. Close sends buffered messages without linger.
// When its context ends, it gives up the remaining messages and returns their results.
package sender
