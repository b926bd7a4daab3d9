package formats

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is what a collector is to an exporter: it takes OTLP over HTTP
// (/v1/traces and /v1/metrics of the OpenTelemetry Protocol Specification).
type receiver struct {
	*httptest.Server
	delay time.Duration // before each answer

	mu      sync.Mutex
	spans   []*trace.Span
	metrics map[string]*metrics.Metric // the latest of each
	scopes  map[string]string          // schema URLs by scope
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{metrics: map[string]*metrics.Metric{}, scopes: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, req *http.Request) {
		var in collectortrace.ExportTraceServiceRequest
		r.take(w, req, &in, &collectortrace.ExportTraceServiceResponse{}, func() {
			for _, resource := range in.ResourceSpans {
				for _, scope := range resource.ScopeSpans {
					r.scopes[scope.Scope.Name] = scope.SchemaUrl
					r.spans = append(r.spans, scope.Spans...)
				}
			}
		})
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, req *http.Request) {
		var in collectormetrics.ExportMetricsServiceRequest
		r.take(w, req, &in, &collectormetrics.ExportMetricsServiceResponse{}, func() {
			for _, resource := range in.ResourceMetrics {
				for _, scope := range resource.ScopeMetrics {
					for _, m := range scope.Metrics {
						r.metrics[m.Name] = m
					}
				}
			}
		})
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// take reads a request into in, notes it, and answers with out.
func (r *receiver) take(w http.ResponseWriter, req *http.Request, in, out proto.Message, note func()) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = proto.Unmarshal(body, in)
	}
	if err != nil || req.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	time.Sleep(r.delay)
	r.mu.Lock()
	defer r.mu.Unlock()
	note()
	answer, err := proto.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

// named are the spans of a name that were received.
func (r *receiver) named(name string) (list []*trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	return list
}

// attr is an attribute that is a string.
func attr(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}
