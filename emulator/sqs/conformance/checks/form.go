package checks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// form sends a signed request of the query protocol to a queue's URL. The SDK
// speaks the JSON protocol only. Parameters are name, value, name, value. By GET
// they are in the URL.
func (q *queue) form(method string, parameters ...string) answer {
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	if len(values) > 0 {
		values.Set("Version", "2012-11-05")
	}
	target, body := *q.url, values.Encode()
	if method == http.MethodGet && body != "" {
		target, body = target+"?"+body, ""
	}
	request := must(http.NewRequestWithContext(q.ctx, method, target, strings.NewReader(body)))
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	return q.do(request, body)
}

// do signs a request and sends it.
func (e *env) do(request *http.Request, body string) answer {
	options := e.Options()
	sum := sha256.Sum256([]byte(body))
	credentials := must(options.Credentials.Retrieve(e.ctx))
	err := v4.NewSigner().SignHTTP(e.ctx, credentials, request, hex.EncodeToString(sum[:]), "sqs", options.Region, time.Now())
	e.must("signature", err)
	response := must(options.HTTPClient.Do(request))
	defer func() { _ = response.Body.Close() }()
	text := must(io.ReadAll(response.Body))
	return answer{response.StatusCode, response.Header, text}
}

// formError ends the check unless the answer is an error of the query protocol
// with this code; it returns the message.
func (e *env) formError(what string, a answer, code string) string {
	var failure struct {
		XMLName xml.Name
		Error   struct{ Type, Code, Message string }
	}
	if err := xml.Unmarshal(a.body, &failure); err != nil || failure.XMLName.Local != "ErrorResponse" {
		e.fail("%s: want an ErrorResponse in XML, got status %d %s", what, a.status, show(string(a.body)))
	}
	want(e, what+": Code", failure.Error.Code, code)
	want(e, what+": Type", failure.Error.Type, "Sender")
	return failure.Error.Message
}

// formSuccess ends the check unless the answer is that of the action; it returns the text.
func (e *env) formSuccess(what string, a answer, action string) string {
	if a.status != http.StatusOK || !strings.Contains(string(a.body), "<"+action+"Response") {
		e.fail("%s: want status 200 and %sResponse, got status %d %s", what, action, a.status, show(string(a.body)))
	}
	return string(a.body)
}
