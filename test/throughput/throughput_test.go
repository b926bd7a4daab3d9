package main

import "testing"

func TestAWaitingMessageKeepsTheBound(t *testing.T) {
	got, err := heapEach(t.Context(), 50_000)
	if err != nil {
		t.Fatal(err)
	}
	if got < waitingBody || got > memoryBound+waitingBody {
		t.Errorf("a waiting message costs %d bytes, want %d to %d", got, waitingBody, memoryBound+waitingBody)
	}
}
