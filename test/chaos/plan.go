package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// The phases, each with its share of the messages.
const (
	calm       = iota // nothing goes wrong: 10 %
	stops             // workers are stopped by SIGTERM: 20 %
	everything        // everything goes wrong: 70 %
	phases
)

var phaseNames = [phases]string{"A: calm", "B: stops", "C: chaos"}

// first is the number of a phase's first message.
func first(phase, messages int) int {
	return messages * [phases + 1]int{0, 10, 30, 100}[phase] / 100
}

func phaseOf(n, messages int) int {
	switch {
	case n < first(stops, messages):
		return calm
	case n < first(everything, messages):
		return stops
	}
	return everything
}

// The queues.
const (
	standardName = "orders"
	fifoName     = "orders.fifo"
	deadName     = "dead-orders"
	deadFIFOName = "dead-orders.fifo"
)

var mainQueues = [2]string{standardName, fifoName}

// order is a message to send.
type order struct {
	task
	group string // of the FIFO queue; "" for the standard queue
}

func (o *order) body() string {
	b, err := json.Marshal(o.task)
	if err != nil {
		panic(err) // cannot happen: numbers
	}
	return string(b)
}

// makeOrders decides by the seed what is sent: 30 % to FIFO groups; handlers take
// up to 30 ms, 1 ‰ 2 s; 2 % fail at first, 3 ‰ for good.
func makeOrders(messages int, random *rand.Rand) []order {
	groups := min(200, max(20, messages/100))
	list := make([]order, messages)
	for n := range list {
		o := &list[n]
		o.N, o.Millis = n, random.IntN(31)
		if random.IntN(10) < 3 {
			o.group = fmt.Sprintf("customer-%d", random.IntN(groups))
		}
		switch p := random.IntN(1000); {
		case p < 1:
			o.Millis = 2000
		case p < 16:
			o.Fails = 1
		case p < 21:
			o.Fails = 2
		case p < 24:
			o.Permanent = true
		}
	}
	return list
}

type kind string

const (
	kill      kind = "kill -9"
	term      kind = "SIGTERM"
	latency   kind = "latency"
	bandwidth kind = "bandwidth"
	slicer    kind = "slicer"
	reset     kind = "reset"
	hangAsk   kind = "hang, requests"
	hangTell  kind = "hang, answers"
	cut       kind = "cut"
	refused   kind = "refused"
	restart   kind = "server restart"
)

// kinds are all of them; the later, the likelier the reason of what happened then.
var kinds = []kind{kill, term, latency, bandwidth, slicer, reset, hangAsk, hangTell, cut, refused, restart}

// makeFaults has all kinds in turn, each turn shuffled and with a second kill.
func makeFaults(n int, random *rand.Rand) []kind {
	var list []kind
	for len(list) < n {
		turn := append([]kind{kill}, kinds...)
		random.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		list = append(list, turn...)
	}
	return list[:n]
}
