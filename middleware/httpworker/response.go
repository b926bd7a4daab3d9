package httpworker

import (
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// response is an [http.ResponseWriter] of which only the status counts: what is
// written takes no memory. A worker's goroutines may use it after the worker has
// returned, which is their mistake and changes nothing.
type response struct {
	header http.Header // the worker's, until it answers

	mu         sync.Mutex
	status     int // 0: no answer yet
	retryAfter time.Duration
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader takes the first status but those of information (100 to 199).
// One that is no status fails the record, where an [http.Server] panics.
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

// WriteString spares copies, see [io.StringWriter].
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
