// Package longpoll feeds a handler from an SQS queue by long polling: what a
// container does where a Lambda function has an event source mapping. The
// handler, its deadlines, verbs, order and hooks are those of package batch,
// and what becomes of failures is decided by package partialfailure, so that a
// function moves between the two unchanged.
//
//	p, err := longpoll.New(batch.JSON(shipOrder), longpoll.Config{Queue: url, SQS: client})
//	if err != nil {
//		return err
//	}
//	return p.Run(ctx) // until ctx ends, then drains
//
// A record is received, waits for a slot if none is free, runs, and is settled:
// deleted when its handler returned nil, sent to the dead-letter queue, or made
// visible after its backoff. While it is held its visibility is extended, so
// that a crash costs no more than [Config.Visibility]. Hooks are told of a
// batch for each record, or for the records of a FIFO group that came together.
//
// Requests, per record of a busy queue: 0.1 for receiving, 0.1 for deleting;
// one for ten records and 20 s of handling (extension), one for ten failures.
// An idle queue costs one request in 20 s.
package longpoll
