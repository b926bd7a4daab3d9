// Package prices has the prices of AWS that docs/deploying/cost.md states.
package prices

// Table has prices in US dollars.
type Table struct {
	Requests, FIFORequests, Invocations float64 // a million
	GBSecond                            float64
	PollerHour                          float64 // of a provisioned poller
	TaskHour                            float64 // of a container
}

// USEast1 returns the prices of us-east-1 on arm64, without the free tier [Amazon SQS pricing, AWS
// Lambda pricing]. Those of pollers and containers are 0: they depend on what they are made of.
func USEast1() Table {
	return Table{Requests: 0.40, FIFORequests: 0.50, Invocations: 0.20, GBSecond: 0.0000133334}
}
