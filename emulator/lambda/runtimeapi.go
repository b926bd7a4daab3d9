package lambda

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

// runtimeAPI is the HTTP server of "Using the Lambda runtime API for custom runtimes". Each
// bootstrap process has its own, so that a killed process cannot answer for the next one.
type runtimeAPI struct {
	fn     Function
	server *http.Server
	addr   string
	served sync.WaitGroup // the accept loop and every request
	closed chan struct{}  // closed under mu

	ready     chan struct{}       // one token after the runtime has asked for an invocation
	work      chan *invocation    // the next invocation; unbuffered, so that an abandoned one does not stay here
	initError chan *FunctionError // the runtime's init error

	mu          sync.Mutex
	asked       bool                   // the runtime has asked for its first invocation
	extension   string                 // the identifier of the registered extension
	invocations map[string]*invocation // delivered; answered ones stay until the next request
}

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

// routes returns the API's handler. It answers unknown paths and wrong methods with an
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
	if isClosed(api.closed) {
		api.mu.Unlock()
		return
	}
	api.served.Add(1)
	api.mu.Unlock()
	defer api.served.Done()
	if refusal := webguard.Refusal(r, nil); refusal != "" { // the bootstrap's requests name 127.0.0.1
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

// claim claims the invocation of the request's path and returns it. If that is not allowed,
// claim answers the request with the reason and returns nil.
func (api *runtimeAPI) claim(w http.ResponseWriter, r *http.Request) *invocation {
	api.mu.Lock()
	inv := api.invocations[r.PathValue("id")]
	api.mu.Unlock()
	switch {
	case inv == nil:
		reply(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return nil
	case !inv.claim():
		forbidden(w, "the invocation "+inv.id+" was already answered")
		return nil
	}
	return inv
}

func (api *runtimeAPI) response(w http.ResponseWriter, r *http.Request) {
	inv := api.claim(w, r)
	if inv == nil {
		return
	}
	// The error trailers of a streamed response have no effect on a buffered invocation.
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
		inv.answer <- &answer{payload: body, at: at}
		accepted(w)
	}
}

func (api *runtimeAPI) invocationError(w http.ResponseWriter, r *http.Request) {
	inv := api.claim(w, r)
	if inv == nil {
		return
	}
	body, _, _ := readBody(r.Body, maxResponse)
	ferr := parseError(r.Header, body)
	a := &answer{payload: body, err: ferr, at: time.Now()}
	if !json.Valid(body) {
		a.payload = ferr.document()
	}
	inv.answer <- a
	accepted(w)
}

func (api *runtimeAPI) initFailed(w http.ResponseWriter, r *http.Request) {
	body, _, _ := readBody(r.Body, maxResponse)
	api.mu.Lock()
	asked := api.asked
	api.mu.Unlock()
	if asked {
		forbidden(w, "the runtime has already asked for an invocation")
		return
	}
	ferr := parseError(r.Header, body)
	ferr.Init = true
	select {
	case api.initError <- ferr:
		accepted(w)
	default:
		forbidden(w, "an init error was already reported")
	}
}

func (api *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	if !api.admit() {
		forbidden(w, fmt.Sprintf("%d of %[1]d concurrent invocations are not answered yet", api.fn.perEnvironment()))
		return
	}
	sleep.Wake(api.ready)
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
	_, _ = w.Write(inv.payload) // if the client is gone, the process's end or the timeout follows
}

// await waits for an invocation, delivers it to r and returns it. It returns nil if r's
// client is gone or the API is closed.
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

// admit reports whether the runtime may have another invocation. If so, the answered invocations
// are over, and admit drops them.
func (api *runtimeAPI) admit() bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	unanswered := 0
	for _, inv := range api.invocations {
		if !inv.isClaimed() {
			unanswered++
		}
	}
	if unanswered >= api.fn.perEnvironment() {
		return false
	}
	maps.DeleteFunc(api.invocations, func(_ string, inv *invocation) bool { return inv.isClaimed() })
	api.asked = true
	return true
}

// deliver marks inv as delivered by the request r. If r's client is gone, inv returns to
// environment.deliver, since a runtime that lost its connection asks again. An abandoned inv is
// not delivered.
func (api *runtimeAPI) deliver(r *http.Request, inv *invocation) (delivered, gone bool) {
	api.mu.Lock()
	defer api.mu.Unlock()
	if r.Context().Err() != nil {
		inv.back <- struct{}{} // never blocks: inv is offered again only after this token is received
		return false, true
	}
	if !inv.deliver(api.fn.Timeout) {
		return false, false
	}
	select { // a second, concurrent request may have left a token
	case <-api.ready:
	default:
	}
	api.invocations[inv.id] = inv
	return true, false
}

// registerExtension and nextEvent serve internal extensions without events, which
// aws-lambda-go's WithEnableSIGTERM needs: with one, Lambda sends SIGTERM before SIGKILL. An
// extension that registers for events is refused, because none would come.
func (api *runtimeAPI) registerExtension(w http.ResponseWriter, r *http.Request) {
	var request struct{ Events []string }
	body, size, err := readBody(r.Body, maxExtensionBody)
	switch {
	case err != nil || size > maxExtensionBody || json.Unmarshal(body, &request) != nil:
		reply(w, http.StatusBadRequest, "InvalidRequestFormat", "need a JSON object with a list of events")
		return
	case r.Header.Get("Lambda-Extension-Name") == "":
		reply(w, http.StatusBadRequest, "InvalidExtensionName", "the header Lambda-Extension-Name is missing")
		return
	case len(request.Events) > 0:
		reply(w, http.StatusBadRequest, "InvalidEventType", "the emulator has no events for extensions: register without any")
		return
	}
	api.mu.Lock()
	if api.extension == "" {
		api.extension = newRequestID()
	}
	id := api.extension
	api.mu.Unlock()
	w.Header().Set(extensionHeader, id)
	respond(w, http.StatusOK, map[string]string{
		"functionName": api.fn.Name, "functionVersion": functionVersion, "handler": handlerName,
	})
}

const (
	extensionHeader  = "Lambda-Extension-Identifier"
	maxExtensionBody = 64 << 10
)

func (api *runtimeAPI) nextEvent(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get(extensionHeader); got == "" || got != api.registered() {
		reply(w, http.StatusForbidden, "Extension.UnknownExtensionIdentifier", "the header "+extensionHeader+" names no registered extension")
		return
	}
	select {
	case <-r.Context().Done():
	case <-api.closed:
	}
}

// registered returns the identifier of the extension, "" if there is none.
func (api *runtimeAPI) registered() string {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.extension
}

// readBody returns up to limit bytes of a body, and the body's size. It reads a larger body
// to the end, because clients read the answer only after sending the whole request.
func readBody(r io.Reader, limit int64) (body []byte, size int64, err error) {
	body, err = io.ReadAll(io.LimitReader(r, limit+1))
	size = int64(len(body))
	if err != nil || size <= limit {
		return body, size, err
	}
	const drainAtMost = 256 << 20
	more, err := io.Copy(io.Discard, io.LimitReader(r, drainAtMost))
	return body[:limit], size + more, err
}

// parseError returns the error of a document, with the type of the header if the document has
// none.
func parseError(h http.Header, body []byte) *FunctionError {
	var doc struct {
		Type       string          `json:"errorType"`
		Message    string          `json:"errorMessage"`
		StackTrace json.RawMessage `json:"stackTrace"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		doc.Message = string(body)
	}
	kind := cmp.Or(doc.Type, h.Get("Lambda-Runtime-Function-Error-Type"), "Runtime.Unknown")
	return &FunctionError{Type: kind, Message: doc.Message, StackTrace: doc.StackTrace}
}

func accepted(w http.ResponseWriter) {
	respond(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func forbidden(w http.ResponseWriter, why string) {
	reply(w, http.StatusForbidden, "InvalidStateTransition", "State transition failed for runtime: "+why)
}

func reply(w http.ResponseWriter, status int, errorType, message string) {
	respond(w, status, map[string]string{"errorMessage": message, "errorType": errorType})
}

func respond(w http.ResponseWriter, status int, document map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}
