package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
)

// This file stands in for the worker, so that the example runs without another process. It
// is no part of a function.
func init() { client.Transport = standin{} }

type standin struct{}

func (standin) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	work(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// work refuses bodies that are not orders, and orders of unknown articles.
func work(w http.ResponseWriter, r *http.Request) {
	var order struct{ ID, SKU string }
	switch err := json.NewDecoder(r.Body).Decode(&order); {
	case err != nil:
		http.Error(w, "no order", http.StatusBadRequest)
	case order.SKU == "unknown":
		http.Error(w, "no such article", http.StatusUnprocessableEntity)
	case order.SKU == "moved":
		http.Redirect(w, r, "/done", http.StatusFound)
	default:
		slog.InfoContext(r.Context(), "shipped", "order", order.ID, "queue", r.Header.Get("X-Aws-Sqsd-Queue"), "priority", r.Header.Get("X-Aws-Sqsd-Attr-Priority"))
	}
}
