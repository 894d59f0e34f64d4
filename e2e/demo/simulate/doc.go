// Package simulate keeps the demo cluster in motion: everything that a manifest cannot describe.
//
// bin/devcluster simulates kubelets whose pods run without incidents. [Simulation] adds the
// incidents, and writes nothing that a manifest of the demo contains except the image of one deployment:
//   - a pod with [FaultAnnotation] crashes, is killed for its memory, cannot pull its image, is not
//     ready, or fails, with the status and the events of a kubelet;
//   - a Backup has conditions, as if its controller ran; one changes every minute;
//   - a deployment gets another image every minute;
//   - a node has memory pressure, and another is cordoned;
//   - every container that runs or ran has a log, which the API server reads from this package;
//   - every container that runs has a shell, whose commands and files are simulated, and a page at each of its ports.
package simulate
