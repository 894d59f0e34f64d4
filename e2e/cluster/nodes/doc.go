// Package nodes simulates every kubelet of a cluster that has no machines.
//
// For every Node object, with any creator, the package guarantees:
//   - the node becomes ready, and stays ready while Run runs;
//   - a pod that is bound to the node becomes Running, with an address of its own and all
//     containers ready; a Job's pod then becomes Succeeded; a pod with [ForeignStatusAnnotation] keeps
//     the status that another program writes;
//   - a pod that is deleted is removed at once, without its grace period.
//
// Nothing runs in the pods: there are no logs, no exec, and their addresses are unreachable. Another
// program may serve the logs: the API server connects to 127.0.0.1 and the port that the program
// writes to the node's status.daemonEndpoints.
package nodes
