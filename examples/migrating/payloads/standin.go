package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// This file stands in for Amazon S3, so that the example runs without an
// account. It is no part of a function.
func init() {
	if os.Getenv("AWS_ENDPOINT_URL_S3") != "" {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("AWS_ENDPOINT_URL_S3", "http://"+listener.Addr().String())
	go func() { _ = http.Serve(listener, http.HandlerFunc(objects)) }()
}

// objects serves two orders of 300 KiB in orders-payloads, and one that is
// someone else's.
func objects(w http.ResponseWriter, r *http.Request) {
	n, ok := map[string]int{
		"/orders-payloads/3d1f9c4a-77f5-4be4-9d5e-6a2f3d0f5b11": 2,
		"/orders-payloads/8b79b963-244f-4056-910f-ad6c06bca726": 3,
		"/somebody-elses/5f7a1d1e-90c4-4c55-b0a9-0e3c5d8f6e21":  5,
	}[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`)
		return
	}
	fmt.Fprintf(w, `{"id":"o-%d","sku":"ok","quantity":%d,"note":"%s"}`, n, n, strings.Repeat("x", 300<<10))
}
