package lambda

import (
	"encoding/json"
	"net/http"
)

// registerExtension and nextEvent are what aws-lambda-go's WithEnableSIGTERM
// needs: an internal extension without events. It makes Lambda send SIGTERM
// before SIGKILL. An extension that wants events is refused,
// rather than left waiting for them.
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
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{
		"functionName": api.fn.Name, "functionVersion": api.fn.Version, "handler": handlerName,
	})
}

const (
	extensionHeader  = "Lambda-Extension-Identifier"
	maxExtensionBody = 64 << 10
)

func (api *runtimeAPI) nextEvent(w http.ResponseWriter, r *http.Request) {
	api.mu.Lock()
	id := api.extension
	api.mu.Unlock()
	if got := r.Header.Get(extensionHeader); got == "" || got != id {
		reply(w, http.StatusForbidden, "Extension.UnknownExtensionIdentifier", "the header "+extensionHeader+" names no registered extension")
		return
	}
	select {
	case <-r.Context().Done():
	case <-api.closed:
	}
}

func (api *runtimeAPI) wantsSIGTERM() bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.extension != ""
}
