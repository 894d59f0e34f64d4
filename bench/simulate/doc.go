// Package simulate is an upstream for measurements: a server that speaks the part of the Kubernetes
// API that a reader of pods uses, with up to ten million pods that change all the time. A real API
// server with that many pods needs a large machine, and etcd limits the rate of changes.
//
//	pods, err := simulate.NewPods(300_000)
//	handler, err := simulate.NewHandler(pods)
//	go pods.ChangeAt(ctx, &handler.Rate)
//	err = simulate.Serve(ctx, handler, dir, ready)
//
// # What is simulated
//
// Discovery, /version and /readyz; lists of all pods or of a namespace, in pages at one version
// (limit and continue), with resourceVersion and resourceVersionMatch; watches from a version, with
// bookmarks, timeouts and initial events (sendInitialEvents); responses as protobuf and as JSON, of
// whole pods and of their metadata. Pages and watches of a version that is no longer in the history
// get the error 410 (Expired). Selectors, single objects and writes are rejected.
//
// # Cost
//
// The bytes of a pod are made from a template, pod.json, in which only places of a fixed length
// differ. A pod therefore takes 24 bytes of memory, and encoding it is a copy. The template is a pod
// as an API server of Kubernetes 1.37 returned it, with defaults and managedFields.
package simulate
