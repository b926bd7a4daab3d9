package sqs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AWS's SDKs from before the end of 2023 use the query protocol for SQS: form parameters in
// the request, and XML in the answer. Requests are converted to JSON, and answers to XML, so
// that each operation has one implementation. The names are from the SDKs' service model of
// 2012-11-05.

const (
	formType = "application/x-www-form-urlencoded"
	// maxQueryParameters and maxQueryDepth limit requests. The largest valid request, a
	// batch of ten messages with ten attributes each, has some 400 parameters of at most
	// seven parts.
	maxQueryParameters = 2000
	maxQueryDepth      = 8
)

// isQuery reports whether a request is of the query protocol. A POST has its parameters in the
// body, a GET in the URL.
func isQuery(r *http.Request) bool {
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		return false
	case r.Method == http.MethodGet:
		return strings.Contains(r.URL.RawQuery, "Action=")
	default:
		return r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), formType)
	}
}

// queryLists are the lists in requests, by the name of their elements.
var queryLists = map[string]string{
	"AWSAccountId":    "AWSAccountIds",
	"ActionName":      "Actions",
	"AttributeName":   "AttributeNames",
	"BinaryListValue": "BinaryListValues",
	"ChangeMessageVisibilityBatchRequestEntry": "Entries",
	"DeleteMessageBatchRequestEntry":           "Entries",
	"Entries":                                  "Entries", // an empty list has this name
	"MessageAttributeName":                     "MessageAttributeNames",
	"MessageSystemAttributeName":               "MessageSystemAttributeNames",
	"SendMessageBatchRequestEntry":             "Entries",
	"StringListValue":                          "StringListValues",
	"TagKey":                                   "TagKeys",
}

// queryMaps are the maps in requests, by the name of their entries.
var queryMaps = map[string]string{
	"Attribute":              "Attributes",
	"MessageAttribute":       "MessageAttributes",
	"MessageSystemAttribute": "MessageSystemAttributes",
	"Tag":                    "Tags",
}

// emptyLists are names of lists and maps, with which Python's SDK sends empty ones instead of
// the names of elements. AWS ignores them.
var emptyLists = map[string]bool{
	"AWSAccountIds": true, "Actions": true, "AttributeNames": true, "MessageAttributeNames": true,
	"MessageSystemAttributeNames": true, "TagKeys": true,
	"Attributes": true, "MessageAttributes": true, "MessageSystemAttributes": true, "Tags": true,
}

var queryNumbers = []string{
	"DelaySeconds", "MaxNumberOfMessages", "MaxNumberOfMessagesPerSecond", "MaxResults", "VisibilityTimeout", "WaitTimeSeconds",
}

// queryRequest returns a request's operation and its parameters as JSON. QueueUrl or the path
// names the queue.
func queryRequest(r *http.Request, body []byte) (name string, parameters []byte, err error) {
	text := r.URL.RawQuery + "&" + string(body)
	if n := strings.Count(text, "&"); n > maxQueryParameters {
		return "", nil, errMalformed("The request has more than %d parameters.", maxQueryParameters)
	}
	form, err := url.ParseQuery(text)
	if err != nil {
		return "", nil, errMalformed("The request's parameters could not be decoded: %v.", err)
	}
	root := &queryNode{}
	for key, values := range form {
		if values[0] == "" && emptyLists[key] {
			continue
		}
		if !utf8.ValidString(key) || !utf8.ValidString(values[0]) {
			return "", nil, errMalformed("The parameter %q is not UTF-8.", key)
		}
		if strings.Count(key, ".") >= maxQueryDepth {
			return "", nil, errMalformed("The parameter %q has more than %d parts.", key, maxQueryDepth)
		}
		root.child(key).value = values[0]
	}
	if root.children["QueueUrl"] == nil && strings.Trim(r.URL.Path, "/") != "" {
		root.child("QueueUrl").value = r.URL.Path
	}
	tree, failure := root.structure()
	if failure != nil {
		return "", nil, failure
	}
	name = form.Get("Action")
	if _, given := tree["AttributeNames"]; given {
		delete(tree, "MessageSystemAttributeNames") // the older name has precedence (query/older-name-counts of the conformance checks)
	}
	if tags, given := tree["Tags"]; given && name == "CreateQueue" {
		tree["tags"] = tags // lower case in CreateQueue only
	}
	parameters, err = json.Marshal(tree)
	return name, parameters, err
}

// queryAnswer is an operation's answer, for queryXML.
type queryAnswer struct {
	operation string
	answer    any
}

func (s *Server) queryCall(r *http.Request, body []byte) (any, error) {
	name, parameters, err := queryRequest(r, body)
	if err != nil {
		return nil, err
	}
	// A queue's URL is an endpoint only for operations on that queue.
	elsewhere := r.Method == http.MethodGet && strings.Trim(r.URL.Path, "/") != "" && (name == "CreateQueue" || name == "ListQueues")
	if _, known := operations[name]; !known || elsewhere {
		return nil, errUnknownOperation("The action %s is not valid for this endpoint.", name)
	}
	answer, err := s.call(r, name, parameters)
	return queryAnswer{name, answer}, err
}

// queryNode is a parameter in the tree of parameter names: Attribute.1.Name is a child of
// Attribute.1.
type queryNode struct {
	value    string
	children map[string]*queryNode // nil for a plain value
}

func (n *queryNode) child(key string) *queryNode {
	for part := range strings.SplitSeq(key, ".") {
		next := n.children[part]
		if next == nil {
			if n.children == nil {
				n.children = map[string]*queryNode{}
			}
			next = &queryNode{}
			n.children[part] = next
		}
		n = next
	}
	return n
}

// structure returns the JSON object of a node's children.
func (n *queryNode) structure() (map[string]any, *apiError) {
	object := map[string]any{}
	for name, child := range n.children {
		var value any
		var err *apiError
		key := name
		switch {
		case queryLists[name] != "":
			key = queryLists[name]
			value, err = child.list(name)
		case queryMaps[name] != "":
			key = queryMaps[name]
			value, err = child.mapping(name)
		default:
			value, err = child.plain(name)
		}
		if err != nil {
			return nil, err
		}
		object[key] = value
	}
	return object, nil
}

// plain returns a structure, a number or a text.
func (n *queryNode) plain(name string) (any, *apiError) {
	if n.children != nil {
		return n.structure()
	}
	if !slices.Contains(queryNumbers, name) {
		return n.value, nil
	}
	number, err := strconv.ParseInt(n.value, 10, 32)
	if err != nil {
		return nil, errValue(n.value, name, "Must be a whole number.")
	}
	return number, nil
}

// list returns the elements Name.1, Name.2, …, or the single element Name.
func (n *queryNode) list(name string) (any, *apiError) {
	list := []any{}
	elements, err := n.elements(name)
	for _, element := range elements {
		value, err := element.plain("")
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, err
}

// mapping returns the entries Name.1.Name and Name.1.Value, …. Tags have Key and Value.
func (n *queryNode) mapping(name string) (any, *apiError) {
	object := map[string]any{}
	elements, err := n.elements(name)
	for _, element := range elements {
		key := cmp.Or(element.children["Name"], element.children["Key"])
		if key == nil {
			return nil, errMalformed("A parameter %s has no Name.", name)
		}
		value, err := cmp.Or(element.children["Value"], &queryNode{}).plain("")
		if err != nil {
			return nil, err
		}
		object[key.value] = value
	}
	return object, err
}

func (n *queryNode) elements(name string) ([]*queryNode, *apiError) {
	switch {
	case n.children == nil && n.value == "":
		return nil, nil // an empty list or map
	case n.children == nil, n.children["Name"] != nil, n.children["Key"] != nil:
		return []*queryNode{n}, nil // a single element may have no number
	}
	numbered := map[int]*queryNode{}
	for part, child := range n.children {
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 {
			return nil, errMalformed("The parameter %s.%s must be %s.1, %s.2 and so on.", name, part, name, name)
		}
		numbered[i] = child
	}
	elements := make([]*queryNode, 0, len(numbered))
	for _, i := range slices.Sorted(maps.Keys(numbered)) {
		elements = append(elements, numbered[i])
	}
	return elements, nil
}

const (
	queryContentType = "text/xml"
	queryNamespace   = "http://queue.amazonaws.com/doc/2012-11-05/"
)

// answerLists are the lists in answers, with the name of their elements. The operation's name
// precedes the elements of Successful.
var answerLists = map[string]string{
	"Failed":     "BatchResultErrorEntry",
	"Messages":   "Message",
	"QueueUrls":  "QueueUrl",
	"Results":    "ListMessageMoveTasksResultEntry",
	"Successful": "ResultEntry",
	"queueUrls":  "QueueUrl",
}

// answerMaps are the maps in answers, with the names of their entries and of the entries' keys.
var answerMaps = map[string]struct{ entry, key string }{
	"Attributes":        {"Attribute", "Name"},
	"MessageAttributes": {"MessageAttribute", "Name"},
	"Tags":              {"Tag", "Key"},
}

// queryXML returns the answer to a request: answer, which is a queryAnswer, or err.
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

// queryMessage returns an error's message. QueueDoesNotExist has another text in this protocol.
func queryMessage(failure *apiError) string {
	if failure.message == errNoQueue().message {
		return "The specified queue does not exist for this wsdl version."
	}
	return failure.message
}

// generic returns an answer as a decoded JSON value.
func generic(answer any) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(encode(answer)))
	decoder.UseNumber()
	_ = decoder.Decode(&value) // text is valid JSON
	return value
}

type xmlWriter struct {
	bytes.Buffer
	operation string
}

// element writes a member of an answer. Lists and maps are flattened: each element is a member
// with the name of the elements.
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
