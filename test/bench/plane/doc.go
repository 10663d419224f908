// Package plane runs a throwaway control plane for a measurement: one etcd and one kube-apiserver as ordinary processes
// on free ports of loopback, in a folder that the caller makes and removes.
//
// In comes the folder that holds the two programs, and the names of users; out come client configurations for these users
// and an audit.Log that counts what each of them asks for. Every user is an administrator under a name of its own.
//
// It is made to be measured against, so it differs from the control plane of `make up`: nothing survives it, etcd does not
// wait for the disk, and there is no controller manager that would add requests and load of its own. So namespaces are
// not cleaned up, Deployments get no Pods, and nobody collects garbage.
package plane
