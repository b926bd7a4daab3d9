package sqs

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

const (
	queryContentType = "text/xml"
	queryNamespace   = "http://queue.amazonaws.com/doc/2012-11-05/"
)

// answerLists are the lists in answers, with the name of their elements. That
// of Successful has the operation's name before it.
var answerLists = map[string]string{
	"Failed":     "BatchResultErrorEntry",
	"Messages":   "Message",
	"QueueUrls":  "QueueUrl",
	"Results":    "ListMessageMoveTasksResultEntry",
	"Successful": "ResultEntry",
	"queueUrls":  "QueueUrl",
}

// answerMaps are the maps in answers, with the names of their entries and of
// an entry's key.
var answerMaps = map[string]struct{ entry, key string }{
	"Attributes":        {"Attribute", "Name"},
	"MessageAttributes": {"MessageAttribute", "Name"},
	"Tags":              {"Tag", "Key"},
}

// queryXML is the answer to the request of that id: a queryAnswer, or an error.
func queryXML(id string, answer any, err error) (status int, text []byte) {
	var x xmlWriter
	status = http.StatusOK
	x.WriteString(xml.Header)
	if err != nil {
		failure := asAPIError(err)
		status = failure.status
		fmt.Fprintf(&x, `<ErrorResponse xmlns="%s"><Error>`, queryNamespace)
		x.element("Type", failure.fault())
		x.element("Code", failure.queryCode)
		x.element("Message", queryMessage(failure))
		x.WriteString("<Detail/></Error>")
		x.element("RequestId", id)
		x.WriteString("</ErrorResponse>")
	} else {
		a := answer.(queryAnswer)
		x.operation = a.operation
		fmt.Fprintf(&x, `<%sResponse xmlns="%s">`, a.operation, queryNamespace)
		if _, none := a.answer.(nothing); !none {
			x.element(a.operation+"Result", generic(a.answer))
		}
		x.element("ResponseMetadata", map[string]any{"RequestId": id})
		fmt.Fprintf(&x, "</%sResponse>", a.operation)
	}
	return status, x.Bytes()
}

// queryMessage returns an error's message. This protocol has its own text for one error.
func queryMessage(failure *apiError) string {
	if failure.message == errNoQueue().message {
		return "The specified queue does not exist for this wsdl version."
	}
	return failure.message
}

// generic is an answer as the JSON protocol has it.
func generic(answer any) (value any) {
	text, _ := encode(answer) // answers are strings and numbers
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value) // it was encoded just now
	return value
}

type xmlWriter struct {
	bytes.Buffer
	operation string
}

// element writes a member of an answer. Lists and maps are flattened: each element is
// written separately with the name of the elements.
func (x *xmlWriter) element(name string, value any) {
	switch v := value.(type) {
	case nil:
	case []any:
		element := answerLists[name]
		if name == "Successful" {
			element = x.operation + element
		}
		for _, item := range v {
			x.element(element, item)
		}
	case map[string]any:
		names, isMap := answerMaps[name]
		if !isMap && len(v) == 0 {
			x.WriteString("<" + name + "/>")
			return
		}
		if !isMap {
			x.WriteString("<" + name + ">")
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isMap {
				x.WriteString("<" + names.entry + ">")
				x.element(names.key, key)
				x.element("Value", v[key])
				x.WriteString("</" + names.entry + ">")
			} else {
				x.element(key, v[key])
			}
		}
		if !isMap {
			x.WriteString("</" + name + ">")
		}
	default:
		x.WriteString("<" + name + ">")
		_ = xml.EscapeText(x, []byte(fmt.Sprint(v))) // a bytes.Buffer takes everything
		x.WriteString("</" + name + ">")
	}
}
