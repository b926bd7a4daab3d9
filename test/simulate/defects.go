package simulate

// What the toolkit does not keep yet, found by this simulator: set one to true to have
// it tried and checked.
const (
	// A stop that was told not to wait any longer does not wait for a hook that blocks.
	checkHurriedHooks = false
	// Without heartbeats a FIFO group keeps its order while a BatchStarted hook blocks
	// for longer than its messages are hidden.
	tryBatchStartedWithoutHeartbeat = false
	// No more is held than there is room for while a BatchStarted hook blocks.
	checkRoomInBatchStarted = false
	// An extension whose answer was lost counts as made, when the visibility of a
	// record that was abandoned is set.
	checkLostExtensions = false
)
