package main

import (
	"context"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

type resourceClient = kubeconnectv1connect.ResourceServiceClient

const (
	// callPace is the interval between two calls, by one caller after the other.
	callPace = 50 * time.Millisecond
	// callTimeout bounds how long a caller waits for a response. It does not repeat the call.
	callTimeout = 5 * time.Second
)

// calls are the calls in turn.
var calls = []func(ctx context.Context, clients harness.Clients, namespace string) error{
	func(ctx context.Context, clients harness.Clients, _ string) error {
		_, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		return err
	},
	func(ctx context.Context, clients harness.Clients, namespace string) error {
		_, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: objectName(1)})
		return err
	},
	func(ctx context.Context, clients harness.Clients, namespace string) error {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
		return err
	},
}

// startCalling makes calls at the pace, whether or not earlier ones have returned, until stop is called.
func (l *lab) startCalling(ctx context.Context) (stop func(), results *callers.Tally) {
	var clients []harness.Clients
	for _, token := range l.tokens {
		clients = append(clients, l.dial(token))
	}
	ctx, cancel := context.WithCancel(ctx)
	results = &callers.Tally{}
	var calling sync.WaitGroup
	calling.Go(func() {
		for number := 0; ctx.Err() == nil; number++ {
			calling.Go(func() {
				limited, cancel := context.WithTimeout(ctx, callTimeout)
				defer cancel()
				caller := number % callerCount
				err := calls[number/callerCount%len(calls)](limited, clients[caller], namespaceOf(caller))
				if ctx.Err() == nil {
					results.Add(callers.CodeOf(err))
				}
			})
			callers.Wait(ctx, callPace)
		}
	})
	return func() {
		cancel()
		calling.Wait()
	}, results
}
