// Package audit writes the audit log: who has read what. Reads from memory are not in the audit log of the API server.
//
// A line is an Event of audit.k8s.io/v1, as the API server writes it at the level Metadata, so that the same tools read it.
// A call has one event for each resource that it reads, because a list with a join reads two, and a stream has two for
// each: when it begins to send, and when it ends. What Kubernetes has no field for is in annotations. Contents of
// objects are never written, nor are messages of errors, which can quote them.
//
//	log := audit.NewLog(policy, output)
//	log.Begin(call)                          // for each call
//	interceptors = append(interceptors, log.Streams)
//
// What is read is noted where permissions are decided (package access), on the [call.Trail] of the call. So a read that
// passes a permission cannot be missing. The events of a stream are queued before the message that they are about is
// sent, the event of another call when it has ended.
//
// A [Policy] decides which events are written. The [Output] queues lines, and one goroutine writes them. When the queue is
// full, calls wait for a moment. Then lines are lost, which is counted and logged: a disk that stands still does not stop
// the service.
//
// The package must not import the gates or the chain.
package audit
