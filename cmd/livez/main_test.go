package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAsk(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" || r.Method != http.MethodGet {
			t.Errorf("asked for %s %s", r.Method, r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)

	for _, at := range []string{addr, ":" + port, "0.0.0.0:" + port} {
		if err := ask(at, timeout); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	status = http.StatusServiceUnavailable
	if err := ask(addr, timeout); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("503: %v", err)
	}
	status = http.StatusFound
	if err := ask(addr, timeout); err == nil {
		t.Error("302 is no 200")
	}
	server.Close()
	if err := ask(addr, timeout); err == nil {
		t.Error("nothing listens, and it lives")
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		args        []string
		environment string
		want, says  string
	}{
		{nil, "127.0.0.1:8080", "127.0.0.1:8080", ""},
		{[]string{":9090"}, "127.0.0.1:8080", ":9090", ""}, // the code has another
		{[]string{"127.0.0.1:9090"}, "", "127.0.0.1:9090", ""},
		{nil, "", "", "SQSBATCH_HEALTH_ADDR"},
		{nil, "8080", "", "SQSBATCH_HEALTH_ADDR"},
		{nil, "localhost", "", "as argument"},
		{[]string{"9090"}, "127.0.0.1:8080", "", "the argument is"},
		{[]string{":1", ":2"}, "127.0.0.1:8080", "", "at most one"},
	} {
		got, err := address(c.args, c.environment)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q and %q: %q, %v; want %q and words with %q", c.args, c.environment, got, err, c.want, c.says)
		}
	}
}

// Nothing but an answer of HTTP in time is taken for life.
func TestAskTakesNothingButHTTP(t *testing.T) {
	for _, answer := range []string{"220 mail.example.com 200 ESMTP\r\n", "HTTP/1.1\r\n", "\r\n", "no end", "hangs"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		limit := timeout
		if answer == "hangs" { // it takes the connection and does not answer
			limit = 50 * time.Millisecond
		} else {
			go func() {
				if conn, err := listener.Accept(); err == nil {
					_, _ = conn.Write([]byte(answer))
					conn.Close()
				}
			}()
		}
		if err := ask(listener.Addr().String(), limit); err == nil {
			t.Errorf("%q is taken for an answer", answer)
		}
		listener.Close()
	}
}
