package lambda

import (
	"net/http"
	"strings"
	"testing"
)

// A web page can neither take invocations nor answer them.
func TestRuntimeAPIRefusesWebPages(t *testing.T) {
	api := startAPI(t, 1)
	go func() { api.work <- newInvocation([]byte(`{"Records":[]}`)) }()
	for _, header := range [][]string{
		{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Host", "evil.example"},
	} {
		if resp, body := api.ask(t, http.MethodGet, nextPath, "", header...); resp.StatusCode != http.StatusForbidden || strings.Contains(body, "Records") {
			t.Errorf("%v: %s %s", header, resp.Status, body)
		}
	}
	if resp, body := api.ask(t, http.MethodGet, nextPath, ""); resp.StatusCode != http.StatusOK || body != `{"Records":[]}` {
		t.Errorf("the process itself: %s %s", resp.Status, body)
	}
}
