package endpoint

import "testing"

func TestOf(t *testing.T) {
	for url, want := range map[string][2]string{
		"https://sqs.eu-west-1.amazonaws.com/123456789012/orders":           {"eu-west-1", ""},
		"https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders":       {"cn-north-1", ""},
		"https://sqs-fips.us-gov-west-1.amazonaws.com/123456789012/orders":  {"us-gov-west-1", ""},
		"https://sqs.eu-west-1.api.aws/123456789012/orders":                 {"eu-west-1", ""},
		"https://eu-west-1.queue.amazonaws.com/123456789012/orders":         {"eu-west-1", ""},
		"http://127.0.0.1:9324/000000000000/orders":                         {"", "http://127.0.0.1:9324"},
		"https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/123456789012/name": {"", "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com"},
		"orders": {"", ""},
	} {
		region, base := Of(url)
		if got := [2]string{region, base}; got != want {
			t.Errorf("Of(%q) = %q, want %q", url, got, want)
		}
	}
}
