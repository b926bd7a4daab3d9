package httpworker

import (
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// response is an [http.ResponseWriter] that keeps only the status. A worker's goroutines
// may use it after the worker has returned, which is a mistake of theirs and has no effect.
type response struct {
	header http.Header // belongs to the worker until it answers

	mu         sync.Mutex
	status     int // 0: no answer yet
	retryAfter time.Duration
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader keeps the first status that is not informational (100 to 199). An invalid
// status fails the record; an [http.Server] would panic.
func (w *response) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status != 0 || status >= 100 && status <= 199 {
		return
	}
	if status <= 0 {
		status = http.StatusInternalServerError
	}
	w.status, w.retryAfter = status, httpstatus.RetryAfter(w.header)
}

func (w *response) Write(p []byte) (int, error) { return w.wrote(len(p)) }

// WriteString avoids copies, see [io.StringWriter].
func (w *response) WriteString(s string) (int, error) { return w.wrote(len(s)) }

// Flush answers 200 unless there is a status.
func (w *response) Flush() { w.WriteHeader(http.StatusOK) }

func (w *response) wrote(n int) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return n, nil
}
