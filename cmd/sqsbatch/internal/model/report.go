package model

// Report is what a scenario came to. Its JSON is the same for the same scenario. Times are in
// seconds from the beginning of the run.
type Report struct {
	Seconds float64 `json:"seconds"` // length of the run
	Totals  Totals  `json:"totals"`
	Peaks   Peaks   `json:"peaks"`
	Cost    Cost    `json:"cost"`
	Rings   []Ring  `json:"rings"`

	// Every is the seconds between two samples: 1 s to 1 h, so that there are at most 600.
	Every   float64  `json:"every"`
	Samples []Sample `json:"samples"`

	// Assumptions are sentences about what AWS does not document, or what the model leaves out.
	Assumptions []string `json:"assumptions"`
}

// Totals counts the whole run. A message ends in one of Handled, DeadLetters, Dropped and Expired,
// or is Left.
type Totals struct {
	Sent        int `json:"sent"`
	Handled     int `json:"handled"` // succeeded and deleted
	DeadLetters int `json:"deadLetters"`
	// Healthy are dead letters that would have succeeded: neither poison, nor permanent by
	// Work.Outcomes, nor hanging or crashing by these at their last attempt.
	Healthy int `json:"healthy"`
	Dropped int `json:"dropped"`
	Expired int `json:"expired"` // older than the retention period
	Left    int `json:"left"`    // still in the queue at the end

	Deliveries int `json:"deliveries"` // messages received, which maxReceiveCount counts
	Attempts   int `json:"attempts"`   // handlers that began
	Retries    int `json:"retries"`    // attempts that failed and come back
	NotStarted int `json:"notStarted"` // deliveries for which too little time was left, or after an abort
	Skipped    int `json:"skipped"`    // deliveries behind a failed record of their FIFO group
	Abandoned  int `json:"abandoned"`  // handlers that hung
	Duplicates int `json:"duplicates"` // attempts that began while another ran, or after one had succeeded

	Invocations int `json:"invocations"`
	Errors      int `json:"errors"` // invocations that failed: timeouts, crashes, kills
	ColdStarts  int `json:"coldStarts"`
	// Throttles are batches that found no concurrency. Throttled are the deliveries that ended so:
	// they used up an attempt, although no handler saw them.
	Throttles int `json:"throttles"`
	Throttled int `json:"throttled"`

	Requests    Requests `json:"requests"`
	GBSeconds   float64  `json:"gbSeconds"`
	PollerHours float64  `json:"pollerHours"` // provisioned pollers
	TaskHours   float64  `json:"taskHours"`   // containers

	// Latency is from the send to the success, of Handled.
	Latency Quantiles `json:"latency"`
}

// Requests counts calls to SQS.
type Requests struct {
	Send       int `json:"send"` // of the senders
	Receive    int `json:"receive"`
	Delete     int `json:"delete"`
	Visibility int `json:"visibility"` // ChangeMessageVisibilityBatch: backoff, releases and heartbeats
	DeadLetter int `json:"deadLetter"` // sends of the toolkit to the dead-letter queue
	// Billed is what AWS bills: each 64 KB of a call is a request.
	Billed int `json:"billed"`
}

// Quantiles are in seconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Peaks are the highest values of the run.
type Peaks struct {
	Backlog     Peak `json:"backlog"`     // messages visible
	Age         Peak `json:"age"`         // seconds of the oldest message, whatever its receives
	InFlight    Peak `json:"inFlight"`    // messages in flight; SQS allows 120,000
	Concurrency Peak `json:"concurrency"` // invocations, or handlers of all tasks, at a time
	Tasks       Peak `json:"tasks"`       // containers that poll

	// AtQuota is how long the quota of 120,000 in flight held back receives, in seconds, from
	// QuotaFrom to QuotaUntil with breaks. All are 0 if it did not.
	AtQuota    float64 `json:"atQuota"`
	QuotaFrom  float64 `json:"quotaFrom"`
	QuotaUntil float64 `json:"quotaUntil"`
}

// Peak is a highest value. Over is when it was over: the first sample after it with at most a tenth
// of it, -1 if the run ended before.
type Peak struct {
	Value float64 `json:"value"`
	At    float64 `json:"at"`
	Over  float64 `json:"over"`
}

// Cost is in US dollars.
type Cost struct {
	Requests    float64 `json:"requests"` // of the consumers; those of senders are Sends
	Sends       float64 `json:"sends"`
	Invocations float64 `json:"invocations"`
	GBSeconds   float64 `json:"gbSeconds"`
	Pollers     float64 `json:"pollers"`
	Tasks       float64 `json:"tasks"`
	Total       float64 `json:"total"` // without Sends
}

// Ring is a time in which an alarm rang. Until is -1 if it still did at the end.
type Ring struct {
	Alarm string  `json:"alarm"`
	From  float64 `json:"from"`
	Until float64 `json:"until"`
}

// Sample is the state at a time, and what happened since the sample before.
type Sample struct {
	At          float64 `json:"at"`
	Visible     int     `json:"visible"`
	Delayed     int     `json:"delayed"`
	InFlight    int     `json:"inFlight"`
	Age         float64 `json:"age"` // ApproximateAgeOfOldestMessage, which leaves out messages received three times or more on a standard queue
	DeadLetters int     `json:"deadLetters"`
	Concurrency int     `json:"concurrency"`
	Tasks       int     `json:"tasks"`

	Sent      int `json:"sent"`
	Handled   int `json:"handled"`
	Failed    int `json:"failed"` // attempts that did not succeed
	Throttles int `json:"throttles"`
}
