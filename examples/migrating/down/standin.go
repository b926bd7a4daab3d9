package main

import (
	"net/http"
	"sync"
	"time"
)

// This file stands in for carrier.example.com, so that the example runs without
// a network. It is no part of a function.
func init() { http.DefaultClient.Transport = &carrier{outage: 2 * time.Second} }

// carrier answers 503 for a while from the first call on.
type carrier struct {
	outage time.Duration

	mu      sync.Mutex
	first   time.Time
	refused int
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.IsZero() {
		c.first = time.Now()
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	if time.Since(c.first) < c.outage {
		c.refused++
		response.StatusCode = http.StatusServiceUnavailable
	}
	return response, nil
}
