package httpworker

import (
	"cmp"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// Options configures [New] and [Post]. The zero value is ready to use.
type Options struct {
	// Path is the path to which [New] posts, such as "/jobs?tenant=7". Defaults to "/".
	Path string
	// ContentType is the header Content-Type. Defaults to "application/json".
	ContentType string
	// UserAgent is the header User-Agent. Defaults to "aws-sqsd", by which frameworks
	// recognize a message.
	UserAgent string
}

func (o Options) withDefaults() Options {
	o.Path = cmp.Or(o.Path, "/")
	o.ContentType = cmp.Or(o.ContentType, "application/json")
	o.UserAgent = cmp.Or(o.UserAgent, "aws-sqsd")
	return o
}

// failed returns the record's error for a failed response.
func failed(e *httpstatus.Error) error {
	if e.RetryAfter > 0 {
		return batch.RetryAfter(e.RetryAfter, e)
	}
	return e
}
