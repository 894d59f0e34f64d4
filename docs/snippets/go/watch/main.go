// Command watch prints the changes of the pods of a namespace, and resumes when a stream ends.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// isFinal has the codes that another attempt does not change. Any other error, also one of the transport
// such as INTERNAL or CANCELED when a replica is killed, only ends the stream.
var isFinal = map[connect.Code]bool{
	connect.CodeInvalidArgument:    true,
	connect.CodeFailedPrecondition: true,
	connect.CodeUnauthenticated:    true, // renew the credential, if you can
	connect.CodePermissionDenied:   true,
	connect.CodeNotFound:           true,
	connect.CodeUnimplemented:      true,
}

func main() {
	address := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	client := kubeconnectv1connect.NewResourceServiceClient(connect.NewClient(connecthttp.NewTransport(http.DefaultClient, address)))
	request := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: "shop", Fields: []string{"status.phase"}}
	for {
		err := watch(client, request)
		if isFinal[connect.CodeOf(err)] {
			log.Fatal(err)
		}
		log.Print("resuming after: ", err)
		time.Sleep(time.Second)
	}
}

// watch prints events until the stream ends, and sets the token with which the next one resumes.
func watch(client kubeconnectv1connect.ResourceServiceClient, request *kubeconnectv1.WatchRequest) error {
	stream, err := client.Watch(context.Background(), request)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		response, err := stream.Receive()
		if err != nil {
			return err
		}
		for _, event := range response.GetEvents() {
			fmt.Println(event.GetType(), event.GetObject().GetName())
		}
		request.ResumeToken = response.GetResumeToken()
	}
}
