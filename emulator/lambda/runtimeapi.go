package lambda

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// runtimeAPI is the HTTP server that one bootstrap process talks to, as written
// in "Using the Lambda runtime API for custom runtimes". It serves one process
// and dies with it, so that a process killed half-way cannot answer for its
// successor.
type runtimeAPI struct {
	fn     Function
	server *http.Server
	addr   string
	served sync.WaitGroup // the accept loop and every request
	closed chan struct{}  // closed under mu

	ready     chan struct{}       // holds one token once the runtime asks for work
	work      chan *invocation    // what the next request is answered with
	initError chan *FunctionError // what the runtime says against itself

	mu          sync.Mutex
	asked       bool                   // the first invocation was asked for
	extension   bool                   // an internal extension is registered
	invocations map[string]*invocation // delivered and not followed by another
}

// maxErrorBody is what is kept of an error document; Lambda's limit is that of
// responses.
const maxErrorBody = maxResponse

func serveRuntimeAPI(fn Function) (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	api := &runtimeAPI{
		fn:          fn,
		addr:        listener.Addr().String(),
		closed:      make(chan struct{}),
		ready:       make(chan struct{}, 1),
		work:        make(chan *invocation, fn.ConcurrencyPerEnvironment),
		initError:   make(chan *FunctionError, 1),
		invocations: map[string]*invocation{},
	}
	mux := http.NewServeMux()
	const root = "/2018-06-01/runtime/"
	mux.HandleFunc("GET "+root+"invocation/next", api.next)
	mux.HandleFunc("POST "+root+"invocation/{id}/response", api.response)
	mux.HandleFunc("POST "+root+"invocation/{id}/error", api.invocationError)
	mux.HandleFunc("POST "+root+"init/error", api.initFailed)
	mux.HandleFunc("POST /2020-01-01/extension/register", api.registerExtension)
	mux.HandleFunc("GET /2020-01-01/extension/event/next", api.nextEvent)
	api.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.serve(mux, w, r) }),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    2 << 20, // aws-lambda-go sends X-Ray causes of up to 1 MiB in one
	}
	api.served.Go(func() { _ = api.server.Serve(listener) })
	return api, nil
}

func (api *runtimeAPI) serve(mux http.Handler, w http.ResponseWriter, r *http.Request) {
	api.mu.Lock()
	select {
	case <-api.closed:
		api.mu.Unlock()
		return
	default:
		api.served.Add(1)
	}
	api.mu.Unlock()
	defer api.served.Done()
	mux.ServeHTTP(w, r)
}

// close ends every request and waits for them.
func (api *runtimeAPI) close() {
	api.mu.Lock()
	close(api.closed)
	api.mu.Unlock()
	_ = api.server.Close()
	api.served.Wait()
}

func (api *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	if !api.mayAsk() {
		forbidden(w, fmt.Sprintf("of %d invocations at a time, none was answered yet", api.fn.ConcurrencyPerEnvironment))
		return
	}
	select {
	case api.ready <- struct{}{}:
	default:
	}
	inv := api.await(r)
	if inv == nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", api.fn.arn())
	h.Set("Lambda-Runtime-Trace-Id", inv.traceID)
	_, _ = w.Write(inv.payload) // a client that is gone shows as its process's end
}

// await waits for work and delivers it to r; nil when r's client is gone or
// the process is.
func (api *runtimeAPI) await(r *http.Request) *invocation {
	for {
		select {
		case inv := <-api.work:
			delivered, gone := api.deliver(r, inv)
			if gone {
				return nil
			}
			if delivered {
				return inv
			}
		case <-r.Context().Done():
			return nil
		case <-api.closed:
			return nil
		}
	}
}

// mayAsk tells whether the runtime may have another invocation. To ask for one
// says that those which were answered are over.
func (api *runtimeAPI) mayAsk() bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	unanswered := 0
	for _, inv := range api.invocations {
		if !inv.isClaimed() {
			unanswered++
		}
	}
	if unanswered >= api.fn.ConcurrencyPerEnvironment {
		return false
	}
	maps.DeleteFunc(api.invocations, func(_ string, inv *invocation) bool { return inv.isClaimed() })
	api.asked = true
	return true
}

// deliver hands inv to the request, or back when its client is gone: a runtime
// that drops its connection asks again. What was given up is dropped.
func (api *runtimeAPI) deliver(r *http.Request, inv *invocation) (delivered, gone bool) {
	api.mu.Lock()
	defer api.mu.Unlock()
	if r.Context().Err() != nil {
		api.work <- inv // has room: this invocation just left it
		return false, true
	}
	if !inv.deliver(api.fn.Timeout) {
		return false, false
	}
	select { // a second request of the same wait may have left a token
	case <-api.ready:
	default:
	}
	api.invocations[inv.id] = inv
	return true, false
}

// claimed finds the invocation of the request's path and takes the right to
// answer it, or tells the client why not.
func (api *runtimeAPI) claimed(w http.ResponseWriter, r *http.Request) *invocation {
	api.mu.Lock()
	inv := api.invocations[r.PathValue("id")]
	api.mu.Unlock()
	switch {
	case inv == nil:
		reply(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return nil
	case !inv.claim():
		forbidden(w, "the invocation "+inv.id+" was answered already")
		return nil
	}
	return inv
}

func (api *runtimeAPI) response(w http.ResponseWriter, r *http.Request) {
	inv := api.claimed(w, r)
	if inv == nil {
		return
	}
	// The error trailers of a streamed response are read with the body and have
	// no meaning for an invocation that buffers it.
	body, size, err := readBody(r.Body, maxResponse)
	at := time.Now()
	switch {
	case err != nil:
		inv.answer <- failure(&FunctionError{
			Type:    "Runtime.TruncatedResponse",
			Message: fmt.Sprintf("RequestId: %s Error: the response ended after %d bytes: %v", inv.id, size, err),
		})
		reply(w, http.StatusBadRequest, "TruncatedHTTPRequest", "HTTP request detected as truncated")
	case size > maxResponse:
		inv.answer <- failure(responseTooLarge(size))
		reply(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge",
			fmt.Sprintf("Exceeded maximum allowed payload size (%d bytes).", maxResponse))
	default:
		inv.answer <- answer{payload: body, at: at}
		accepted(w)
	}
}

func (api *runtimeAPI) invocationError(w http.ResponseWriter, r *http.Request) {
	inv := api.claimed(w, r)
	if inv == nil {
		return
	}
	body, _, _ := readBody(r.Body, maxErrorBody)
	ferr := parseError(r.Header, body)
	a := answer{payload: body, err: ferr, at: time.Now()}
	if !json.Valid(body) {
		a.payload = ferr.document()
	}
	inv.answer <- a
	accepted(w)
}

func (api *runtimeAPI) initFailed(w http.ResponseWriter, r *http.Request) {
	body, _, _ := readBody(r.Body, maxErrorBody)
	api.mu.Lock()
	asked := api.asked
	api.mu.Unlock()
	if asked {
		forbidden(w, "the runtime has asked for an invocation already")
		return
	}
	ferr := parseError(r.Header, body)
	ferr.Init = true
	select {
	case api.initError <- ferr:
		accepted(w)
	default:
		forbidden(w, "an init error was reported already")
	}
}

// registerExtension and nextEvent are what aws-lambda-go's WithEnableSIGTERM
// needs: an internal extension without events. It makes Lambda send SIGTERM
// before SIGKILL.
func (api *runtimeAPI) registerExtension(w http.ResponseWriter, r *http.Request) {
	_, _, _ = readBody(r.Body, maxErrorBody)
	api.mu.Lock()
	api.extension = true
	api.mu.Unlock()
	w.Header().Set("Lambda-Extension-Identifier", newRequestID())
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{
		"functionName": api.fn.Name, "functionVersion": api.fn.Version, "handler": handlerName,
	})
}

func (api *runtimeAPI) nextEvent(w http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-api.closed:
	}
}

func (api *runtimeAPI) wantsSIGTERM() bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.extension
}
