// Package webguard keeps web pages away from a server that listens on loopback
// and checks no credentials. Any page that a browser on this machine shows can
// send requests to such a server, and by DNS rebinding (a name of its own that
// resolves to 127.0.0.1) it can read the answers.
package webguard

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Refusal says why a request is to be refused; "" when it is not. Allowed are
// host names besides localhost, its subdomains and loopback addresses.
//
// The Host must be one of these, which DNS rebinding cannot forge. An Origin must
// be the Host itself, and Sec-Fetch-Site same-origin or none: other pages of this
// machine (same-site) have no business here either. Programs send neither header.
func Refusal(r *http.Request, allowed []string) string {
	if !hostAllowed(r.Host, allowed) {
		return fmt.Sprintf("The Host %q is neither localhost, nor a loopback address, nor a name that was allowed. "+
			"It is refused, because a web page could reach the emulator by such a name (DNS rebinding).", r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
		return fmt.Sprintf("The request comes from a web page of the origin %q. The emulator checks no credentials and takes none from web pages.", origin)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
		return ""
	default:
		return fmt.Sprintf("The request comes from a web page (Sec-Fetch-Site %q). The emulator checks no credentials and takes none from web pages.", site)
	}
}

// hostAllowed takes a request without Host, which no browser sends.
func hostAllowed(host string, allowed []string) bool {
	name := strings.ToLower(strings.TrimSuffix(withoutPort(host), "."))
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true // browsers do not ask DNS for these (RFC 6761)
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(strings.TrimSuffix(a, "."), name) })
}

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

// CheckName returns an error for what can be no name in Refusal's allowed.
func CheckName(name string) error {
	if !namePattern.MatchString(name) && net.ParseIP(name) == nil {
		return fmt.Errorf("%q is not a host name: use one like host.docker.internal, without scheme and port", name)
	}
	return nil
}
