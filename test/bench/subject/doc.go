// Package subject runs the controller that is measured: any binary that takes the flags of `kro controller`.
//
// In comes the command line; what must fit the control plane (kubeconfig, ports) is added. Out come its life (start, stop,
// kill), its costs, and the news of its death when it ends on its own.
package subject
