package lambda

import (
	"encoding/json"
	"io"
	"net/http"
)

// readBody reads a body to its end, even if it is too large, so that the client reads the
// answer. It keeps at most limit bytes.
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

// parseError reads an error document, or failing that the error type's header.
func parseError(h http.Header, body []byte) *FunctionError {
	var doc struct {
		Type       string          `json:"errorType"`
		Message    string          `json:"errorMessage"`
		StackTrace json.RawMessage `json:"stackTrace"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		doc.Message = string(body)
	}
	setDefault(&doc.Type, h.Get("Lambda-Runtime-Function-Error-Type"))
	setDefault(&doc.Type, "Runtime.Unknown")
	return &FunctionError{Type: doc.Type, Message: doc.Message, StackTrace: doc.StackTrace}
}

func accepted(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func forbidden(w http.ResponseWriter, why string) {
	reply(w, http.StatusForbidden, "InvalidStateTransition", "State transition failed for runtime: "+why)
}

func reply(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"errorMessage": message, "errorType": errorType})
}
