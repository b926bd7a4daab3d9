package main

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// This file stands in for carrier.example.com, so that the example runs without
// a network. It is no part of a function.
func init() { http.DefaultClient.Transport = &carrier{} }

// carrier answers 422 for the article unknown. For busy and down it answers 429 with
// Retry-After and 503 when it is first asked for an order. During an outage, which begins with
// the first call, every answer is 503.
type carrier struct {
	outage time.Duration

	mu      sync.Mutex
	first   time.Time
	refused int // calls during the outage
	asked   map[string]bool
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.IsZero() {
		c.first, c.asked = time.Now(), map[string]bool{}
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	if time.Since(c.first) < c.outage {
		c.refused++
		response.StatusCode = http.StatusServiceUnavailable
		return response, nil
	}
	again := c.asked[r.URL.Path]
	c.asked[r.URL.Path] = true
	switch sku, _, _ := strings.Cut(r.URL.Path[1:], "/"); {
	case sku == "unknown":
		response.StatusCode = http.StatusUnprocessableEntity
	case again:
	case sku == "busy":
		response.StatusCode = http.StatusTooManyRequests
		response.Header.Set("Retry-After", "2")
	case sku == "down":
		response.StatusCode = http.StatusServiceUnavailable
	}
	return response, nil
}
