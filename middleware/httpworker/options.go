package httpworker

import (
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// Options are those of [New] and [Post]. The zero value is good.
type Options struct {
	// Path is where [New] posts, such as "/jobs?tenant=7". Defaults to "/".
	Path string
	// ContentType is the header Content-Type. Defaults to "application/json".
	ContentType string
	// UserAgent defaults to "aws-sqsd", by which frameworks know a message.
	UserAgent string
}

func (o Options) withDefaults() Options {
	if o.Path == "" {
		o.Path = "/"
	}
	if o.ContentType == "" {
		o.ContentType = "application/json"
	}
	if o.UserAgent == "" {
		o.UserAgent = "aws-sqsd"
	}
	return o
}

// failed returns the error of a record for that of its response.
func failed(e *httpstatus.Error) error {
	if e.RetryAfter > 0 {
		return batch.RetryAfter(e.RetryAfter, e)
	}
	return e
}
