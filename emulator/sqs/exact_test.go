package sqs_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Members are known by their exact names, and half a surrogate pair is no
// character.
func TestRequestsAreReadExactly(t *testing.T) {
	const url = `"QueueUrl":"http://x/000000000000/orders"`
	for _, c := range []struct{ operation, body, want string }{
		{"SendMessage", `{"queueurl":"http://x/000000000000/orders","MessageBody":"a"}`, "MissingParameter"},
		{"SendMessage", `{` + url + `,"messageBody":"a"}`, "MissingParameter"},
		{"SendMessage", `{` + url + `,"MessageBody":"a","messagebody":"","MESSAGEBODY":7,"":{"a":[1]},"x":[{},"}",-1.5e3,null]}`, ""},
		{"SendMessage", `{` + url + `,"M\u0065ssageBody":"a"}`, ""},
		{"SendMessage", `{` + url + `,"MessageBody":"a","MessageAttributes":{"n":{"datatype":"String","StringValue":"v"}}}`, "InvalidParameterValue"},
		{"SendMessage", `{` + url + `,"MessageBody":"a","MessageAttributes":{"queueurl":{"DataType":"String","StringValue":"v","stringvalue":1}}}`, ""},
		{"SendMessageBatch", `{` + url + `,"Entries":[{"id":"1","MessageBody":"a"}]}`, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"SendMessageBatch", `{` + url + `,"Entries":[{"Id":"1","MessageBody":"a","id":"\ud834\udd1e"}]}`, ""},
		{"CreateQueue", `{"QueueName":"new","Attributes":{"visibilitytimeout":"1"}}`, "InvalidAttributeName"},
		{"CreateQueue", `{"QueueName":"new","tags":{"a":"b"}}`, ""},

		{"SendMessage", `{` + url + `,"MessageBody":"\ud834\udd1e \\ud834 \ufffd"}`, ""},
		{"SendMessage", `{` + url + `,"MessageBody":"a\ud800"}`, "InvalidMessageContents"},
		{"SendMessage", `{` + url + `,"MessageBody":"\uDFFFa"}`, "InvalidMessageContents"},
		{"SendMessage", `{` + url + `,"MessageBody":"\ud834\ud834\udd1e"}`, "InvalidMessageContents"},
		{"SendMessage", `{` + url + `,"MessageBody":"\ud834\\udd1e"}`, "InvalidMessageContents"},
		{"SendMessage", `{` + url + `,"MessageBody":"a","MessageAttributes":{"n":{"DataType":"String","StringValue":"\ud800"}}}`, "InvalidParameterValue"},
	} {
		server := sqs.New(sqs.Options{})
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
		status, answer, code := post(server, "AmazonSQS."+c.operation, c.body)
		code, _, _ = strings.Cut(code, ";")
		if code != c.want || (status == http.StatusOK) != (code == "") || answer["Failed"] != nil {
			t.Errorf("%s %s: %d %s %v, want %q", c.operation, c.body, status, code, answer, c.want)
		}
		_ = server.Close()
	}
}

// FuzzExact compares what encoding/json gets to read with the request: nothing
// is missing that has an exact name, and there is nothing else.
func FuzzExact(f *testing.F) {
	names := sqs.OperationNames()
	for _, seed := range []string{
		`{"QueueUrl":"a","queueurl":"b","MessageBody":"\ud800\\\ud834\udd1e\u0041"}`,
		"{ \"Entries\" : [ { \"Id\" : \"1\" , \"id\":2 },null ,true ],\n\t\"entries\":[] , \"\":{} }",
		`{"MessageAttributes":{"n":{"DataType":"a","datatype":{"b":["}"]}},"m":-1e5},"\u0051ueueUrl":"\""}`,
		`{"Attributes":{"a":"b"},"tags":{"c":"d"},"Tags":{"e":"f"},"MaxResults":1}`,
	} {
		for operation := range names {
			f.Add(byte(operation), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, operation byte, body []byte) {
		body = []byte(strings.TrimSpace(string(body)))
		var before, after any
		if len(body) == 0 || body[0] != '{' || json.Unmarshal(body, &before) != nil {
			return
		}
		exact, in := sqs.Exact(names[int(operation)%len(names)], body)
		if err := json.Unmarshal(exact, &after); err != nil || len(exact) != len(body) {
			t.Fatalf("%s became %s: %v", body, exact, err)
		}
		want, got := known(t, before, reflect.TypeOf(in), false), known(t, after, reflect.TypeOf(in), true)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %s", body, exact)
		}
	})
}

// known returns a value without the names that its type does not have. Once
// these are blank there are no others.
func known(t *testing.T, value any, of reflect.Type, blank bool) any {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, "\x00", "\ufffd") // half a surrogate pair
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			var inner reflect.Type
			if of != nil && of.Kind() == reflect.Slice {
				inner = of.Elem()
			}
			list[i] = known(t, element, inner, blank)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, element := range value {
			inner, keep := (reflect.Type)(nil), true
			switch {
			case of == nil:
			case of.Kind() == reflect.Map:
				inner = of.Elem()
			case of.Kind() == reflect.Struct:
				inner, keep = memberNamed(of, name)
			}
			if keep {
				object[strings.ReplaceAll(name, "\x00", "\ufffd")] = known(t, element, inner, blank)
			} else if blank && strings.TrimSpace(name) != "" {
				t.Errorf("the name %q is still there", name)
			}
		}
		return object
	}
	return value
}

func memberNamed(of reflect.Type, name string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.Anonymous && field.IsExported() && (tag == name || tag == "" && field.Name == name) {
			return field.Type, true
		}
	}
	return nil, false
}
