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

// The query protocol is the one that AWS's SDKs from before the end of 2023 use for SQS:
// form parameters in the request, and XML in the answer. A request is turned into a request
// of the JSON protocol, and its answer into XML, so that each operation has one
// implementation. Names are those of the SDKs' service model of 2012-11-05.

const (
	formType = "application/x-www-form-urlencoded"
	// maxQueryParameters and maxQueryDepth limit what is parsed. The largest request, a
	// batch of ten messages with ten attributes each, has some 400 parameters of at most
	// seven parts.
	maxQueryParameters = 2000
	maxQueryDepth      = 8
)

// isQuery reports whether a request is of the query protocol: one by POST has
// its parameters in the body, one by GET in the URL.
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

// emptyLists are the names by which Python's SDK sends an empty list: those of
// the lists, not of their elements. AWS ignores them.
var emptyLists = map[string]bool{
	"AWSAccountIds": true, "Actions": true, "AttributeNames": true, "MessageAttributeNames": true,
	"MessageSystemAttributeNames": true, "TagKeys": true,
	"Attributes": true, "MessageAttributes": true, "MessageSystemAttributes": true, "Tags": true,
}

var queryNumbers = []string{
	"DelaySeconds", "MaxNumberOfMessages", "MaxNumberOfMessagesPerSecond", "MaxResults", "VisibilityTimeout", "WaitTimeSeconds",
}

// queryRequest turns a request into the operation's name and the JSON of its
// parameters. The queue is named by QueueUrl or by the path.
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
		delete(tree, "MessageSystemAttributeNames") // the older name of the same counts (query/older-name-counts of the conformance checks)
	}
	if tags, given := tree["Tags"]; given && name == "CreateQueue" {
		tree["tags"] = tags // its name in this one request
	}
	parameters, err = json.Marshal(tree)
	return name, parameters, err
}

// queryAnswer is an operation's answer, to be written as XML.
type queryAnswer struct {
	operation string
	answer    any
}

func (s *Server) queryCall(r *http.Request, body []byte) (any, error) {
	name, parameters, err := queryRequest(r, body)
	if err != nil {
		return nil, err
	}
	// A queue's URL is an endpoint for operations on the queue.
	elsewhere := r.Method == http.MethodGet && strings.Trim(r.URL.Path, "/") != "" && (name == "CreateQueue" || name == "ListQueues")
	if _, known := operations[name]; !known || elsewhere {
		return nil, errUnknownOperation("The action %s is not valid for this endpoint.", name)
	}
	answer, err := s.call(r, name, parameters)
	return queryAnswer{name, answer}, err
}

// queryNode is a parameter, with the parameters whose names begin with its own.
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

// structure is the JSON object of a node's children.
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

// plain is a structure, a number or a text.
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

// list has the elements Name.1, Name.2, …, or the one that is called Name.
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

// mapping has the entries Name.1.Name and Name.1.Value, …; those of tags are
// called Key and Value.
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
		return nil, nil // how SDKs send an empty one
	case n.children == nil, n.children["Name"] != nil, n.children["Key"] != nil:
		return []*queryNode{n}, nil // a single one may go without a number
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
