package main

import (
	"net/http"
	"strings"
	"sync"
)

// This file stands in for carrier.example.com, so that the example runs without
// a network. It is no part of a function.
func init() { http.DefaultClient.Transport = &carrier{} }

// carrier answers 422 for the article unknown, and for busy and down, the first
// time that it is asked for an order, 429 with Retry-After and 503.
type carrier struct{ asked sync.Map }

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	_, again := c.asked.LoadOrStore(r.URL.Path, true)
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
