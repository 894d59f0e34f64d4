// Package remote serves the endpoints of a kubelet whose requests become streams: exec, attach and portForward.
//
// They are what an API server connects to for pods/exec, pods/attach and pods/portforward:
//
//	/exec/{namespace}/{pod}/{container}
//	/attach/{namespace}/{pod}/{container}
//	/portForward/{namespace}/{pod}
//
// each also with the UID of the pod after its name, by GET and POST. The protocols are those of a kubelet, by the same
// libraries:
//   - SPDY/3.1 with v4.channel.k8s.io and before, and with portforward.k8s.io;
//   - WebSocket with v4.channel.k8s.io and before. An API server sends it to any kubelet;
//   - WebSocket with v5.channel.k8s.io, and SPDY/3.1 within WebSocket for ports. An API server since Kubernetes 1.36
//     sends them to kubelets of nodes with [WebSocketFeature] in status.declaredFeatures. For other nodes, and
//     before Kubernetes 1.36, it translates them to SPDY itself.
//
// The package knows neither which pods exist nor what their containers do: see [Lookup], [Pod] and [Container]. Two things
// differ from a real kubelet and its container runtime. A process ends when its client disconnects, so that all
// sessions end with their clients. And a connection to a port ends when the pod ends its part of it.
package remote
