package model

import "time"

// rules are the numbers of AWS that the model uses. Tests change them one by one, to see that the
// comparison with the emulators finds each.
type rules struct {
	quota       int           // messages in flight ["Amazon SQS message quotas"]
	receive     int           // messages of a ReceiveMessage
	longPoll    time.Duration // of Lambda's pollers and of containers
	redriveLate int           // receives beyond maxReceiveCount: none
	pollers     int           // of a mapping at the start ["Configuring scaling behavior for SQS event source mappings"]
	scaleBy     int           // batches at a time added in a second: 300 a minute
	maxScale    int           // batches at a time
	perPoller   int           // batches of a provisioned poller ["ProvisionedPollerConfig"]
	provisionBy int           // provisioned pollers added in a second: 1,000 batches a minute
	keptWarm    time.Duration // how long an environment is kept; AWS says nothing
}

func standardRules() rules {
	return rules{
		quota: 120_000, receive: 10, longPoll: 20 * time.Second,
		pollers: 5, scaleBy: 5, maxScale: 1250, perPoller: 10, provisionBy: 2, keptWarm: 10 * time.Minute,
	}
}

const (
	// maxSlots is how many batches a mapping of emulator/lambda has at a time.
	maxSlots = 1000
	// maxPayload is that of an invocation, to which each record adds some bytes of its own.
	maxPayload  = 6 << 20
	recordBytes = 640
	// billedBytes are a request, for its cost.
	billedBytes = 64 << 10
)
