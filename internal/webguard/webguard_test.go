package webguard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

func TestRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		host, origin, site string
		want               string // part of the refusal; "" for none
	}{
		"a program":                  {host: "127.0.0.1:9324"},
		"another loopback address":   {host: "127.8.8.8:9324"},
		"IPv6":                       {host: "[::1]:9324"},
		"IPv6 without port":          {host: "[::1]"},
		"localhost":                  {host: "LocalHost:9324"},
		"localhost with a dot":       {host: "localhost.:9324"},
		"a name below localhost":     {host: "orders.sqs.localhost:9324"},
		"no Host":                    {host: ""},
		"allowed":                    {host: "Host.Docker.Internal:9324"},
		"allowed without port":       {host: "host.docker.internal"},
		"the user's own page":        {host: "127.0.0.1:9324", origin: "http://127.0.0.1:9324", site: "same-origin"},
		"typed":                      {host: "localhost:9324", site: "none"},
		"rebound":                    {host: "evil.example:9324", want: `Host "evil.example:9324"`},
		"rebound, same origin":       {host: "evil.example:9324", origin: "http://evil.example:9324", site: "same-origin", want: "Host"},
		"ends as localhost":          {host: "evillocalhost:9324", want: "Host"},
		"begins as an address":       {host: "127.0.0.1.evil.example", want: "Host"},
		"another address":            {host: "192.168.1.5:9324", want: "Host"},
		"unspecified address":        {host: "0.0.0.0:9324", want: "Host"},
		"below what is allowed":      {host: "x.host.docker.internal", want: "Host"},
		"a web page":                 {host: "127.0.0.1:9324", origin: "https://evil.example", want: `origin "https://evil.example"`},
		"a web page in a sandbox":    {host: "127.0.0.1:9324", origin: "null", want: `origin "null"`},
		"another port":               {host: "localhost:9324", origin: "http://localhost:3000", want: "origin"},
		"no URL":                     {host: "localhost:9324", origin: "::", want: "origin"},
		"an image of a web page":     {host: "localhost:9324", site: "cross-site", want: `Sec-Fetch-Site "cross-site"`},
		"an image of a local page":   {host: "localhost:9324", site: "same-site", want: `Sec-Fetch-Site "same-site"`},
		"same origin, but elsewhere": {host: "localhost:9324", origin: "http://localhost:9324", site: "cross-site", want: "Sec-Fetch-Site"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			if tc.site != "" {
				r.Header.Set("Sec-Fetch-Site", tc.site)
			}
			got := webguard.Refusal(r, []string{"host.docker.internal"})
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("refusal %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"host.docker.internal": true, "sqs": true, "my_service": true, "192.168.1.5": true, "fe80::1": true,
		"": false, "*": false, "http://sqs": false, "sqs:9324": false, "a b": false, "-x": false,
	} {
		if err := webguard.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
