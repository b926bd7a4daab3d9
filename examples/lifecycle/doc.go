// Package lifecycle holds programs that poll a queue inside a life cycle that others give
// them: an errgroup, a framework, a server. docs/lifecycles.md explains them. They are a
// module of their own because of the frameworks.
//
//	go test ./...     in this directory, or: make lifecycle
package lifecycle
