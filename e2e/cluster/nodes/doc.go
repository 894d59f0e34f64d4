// Package nodes plays the part of every kubelet in a cluster that has no
// machines.
//
// It promises, for every Node object, whoever made it:
//   - the node becomes ready, and stays so while Run runs;
//   - a pod that is bound to it becomes Running, with an address of its own and
//     all containers ready; a Job's pod goes on to Succeeded;
//   - a pod that is deleted goes away at once, its grace period is not waited for.
//
// Nothing runs in the pods: there are no logs, no exec, and their addresses lead
// nowhere.
package nodes
