package lambda

import (
	"net/http"
	"strings"
	"testing"
)

// A web page can neither take invocations nor answer them; see package webguard.
func TestRuntimeAPIRefusesWebPages(t *testing.T) {
	api := startAPI(t, 1)
	go func() { api.work <- newInvocation([]byte(`{"Records":[]}`)) }()
	if resp, body := api.ask(t, http.MethodGet, nextPath, "", "Origin", "https://evil.example"); resp.StatusCode != http.StatusForbidden || strings.Contains(body, "Records") {
		t.Errorf("%s %s", resp.Status, body)
	}
	if resp, body := api.ask(t, http.MethodGet, nextPath, ""); resp.StatusCode != http.StatusOK || body != `{"Records":[]}` {
		t.Errorf("the process itself: %s %s", resp.Status, body)
	}
}
