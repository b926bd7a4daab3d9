// Package httpstatus tells, of a call by HTTP that failed, whether the record is
// worth another try: an error for a response that is no success, and a
// classifier of errors that have a status.
//
//	response, err := http.DefaultClient.Do(request)
//	if err != nil {
//		return err
//	}
//	defer response.Body.Close()
//	if err := httpstatus.Check(response); err != nil {
//		return err
//	}
//
// and, where the function is run:
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{Classify: httpstatus.Classify})
//
// or, without configuration, where the error is returned:
//
//	return httpstatus.Classify(err)
//
// What it says: 408, 425, 429 and every 5xx are tried again, after Retry-After
// if the response has it; any other 4xx goes to the dead-letter queue at once.
// A status that comes with Retry-After is tried again whatever it is: the server
// says that it will pass (GitHub limits its callers by a 403). What is neither,
// such as a redirect that was not followed, is an ordinary failure, and so is
// what never got an answer: a name that is not found, a certificate that is not
// accepted, a URL without a host. Those may be mistakes of a configuration, and a
// mistake of a configuration must not send a queue to the dead letters.
//
// A 401 or 403 may be such a mistake as well. Where credentials are rotated, say
// so: New(Options{Retry: []int{401, 403}}).
package httpstatus
