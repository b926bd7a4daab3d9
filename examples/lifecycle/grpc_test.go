package main

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// startGRPC starts the program with a server whose calls take 3 s.
func startGRPC(t *testing.T, q *testQueue) (stop func() error, client grpc_health_v1.HealthClient) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		answer, err := next(ctx, in)
		time.Sleep(3 * time.Second)
		return answer, err
	}))
	stop = start(t, func(ctx context.Context) error { return serveGRPC(ctx, listener, server, q.Config) })
	conn, err := grpc.NewClient("passthrough:orders", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return stop, grpc_health_v1.NewHealthClient(conn)
}

// Ten orders are being shipped and two wait, and a call is being answered.
func TestGRPC_FinishesRecordsAndCalls(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		stop, client := startGRPC(t, q)
		time.Sleep(time.Second)
		called := make(chan error, 1)
		go func() {
			_, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			called <- err
		}()
		time.Sleep(500 * time.Millisecond)
		q.requireStop(2500*time.Millisecond, stop) // the call's end; the records are done after 1.5 s
		q.requireMessages(10, 2)
		if err := <-called; err != nil {
			t.Errorf("the call failed: %v", err)
		}
	})
}

// A client that watches the health learns of the stop, but holds GracefulStop.
func TestGRPC_StreamsEndAtTheLimit(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		stop, client := startGRPC(t, q)
		stream, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		states := make(chan grpc_health_v1.HealthCheckResponse_ServingStatus, 9)
		go func() {
			defer close(states)
			for {
				in, err := stream.Recv()
				if err != nil {
					return
				}
				states <- in.Status
			}
		}()
		time.Sleep(time.Second)
		q.requireStop(callLimit, stop)
		q.requireMessages(10, 2)
		if first, then := <-states, <-states; first != grpc_health_v1.HealthCheckResponse_SERVING || then != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("the client saw %v, then %v", first, then)
		}
		if _, more := <-states; more {
			t.Error("the stream goes on")
		}
	})
}
