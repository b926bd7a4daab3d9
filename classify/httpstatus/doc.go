// Package httpstatus decides whether a failed HTTP call is worth a retry. [Check] makes an
// error of a response that is not a success:
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
// [Classify] gives errors with a status a verb. Set it in the configuration:
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{Classify: httpstatus.Classify})
//
// or call it where the error is returned:
//
//	return httpstatus.Classify(err)
//
// The rules:
//
//   - 408, 425, 429 and every 5xx are retried, after Retry-After if the response has it.
//   - Any other 4xx goes to the dead-letter queue at once. Exception: a response with Retry-After is retried, since the server says that the problem
//     will pass (GitHub limits its callers with a 403).
//   - Everything else is an ordinary failure: a redirect that was not followed, or a call without an answer, such as a name that is not found or a
//     certificate that is not accepted. The cause may be a wrong configuration, which must not move a whole queue to the dead-letter queue.
//
// A 401 or 403 may also be caused by a wrong configuration. If your credentials are
// rotated, retry them: New(Options{Retry: []int{401, 403}}).
package httpstatus
