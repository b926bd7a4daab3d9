package lambda

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
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
	work      chan *invocation    // what the next request is answered with; holds none, so that what is given up is gone
	initError chan *FunctionError // what the runtime says against itself

	mu          sync.Mutex
	asked       bool                   // the first invocation was asked for
	extension   string                 // the identifier of the registered extension
	invocations map[string]*invocation // delivered and not followed by another
}

// maxErrorBody is how much of an error document is kept. Lambda's limit is that of
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
		work:        make(chan *invocation),
		initError:   make(chan *FunctionError, 1),
		invocations: map[string]*invocation{},
	}
	mux := api.routes()
	api.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.serve(mux, w, r) }),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    2 << 20, // aws-lambda-go sends X-Ray causes of up to 1 MiB in one
	}
	api.served.Go(func() { _ = api.server.Serve(listener) })
	return api, nil
}

// routes also answers requests that are not emulated, and invalid requests, with an
// explanation.
func (api *runtimeAPI) routes() http.Handler {
	const root = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	for _, route := range []struct {
		method, path string
		serve        http.HandlerFunc
	}{
		{http.MethodGet, root + "invocation/next", api.next},
		{http.MethodPost, root + "invocation/{id}/response", api.response},
		{http.MethodPost, root + "invocation/{id}/error", api.invocationError},
		{http.MethodPost, root + "init/error", api.initFailed},
		{http.MethodPost, "/2020-01-01/extension/register", api.registerExtension},
		{http.MethodGet, "/2020-01-01/extension/event/next", api.nextEvent},
	} {
		mux.HandleFunc(route.path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != route.method {
				w.Header().Set("Allow", route.method)
				reply(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "need the method "+route.method)
				return
			}
			route.serve(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusNotFound, "NotFound", "the emulator has no such path: it serves the Runtime API of 2018-06-01 and extensions without events")
	})
	return mux
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
	if refusal := webguard.Refusal(r, nil); refusal != "" { // the process asks 127.0.0.1
		reply(w, http.StatusForbidden, "AccessDenied", refusal)
		return
	}
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

// claimed finds the invocation of the request's path and claims the right to answer it, or
// answers the client with the reason why not.
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
	// The error trailers of a streamed response are read together with the body, and have
	// no effect on an invocation that buffers it.
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
