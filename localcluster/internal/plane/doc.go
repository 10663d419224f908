// Package plane runs a Kubernetes control plane as ordinary processes on
// loopback: etcd, kube-apiserver, kube-controller-manager, the simulator and,
// when given one, the kro controller.
//
// In comes a state folder and Options; out come running processes and a
// kubeconfig. Everything about a plane is in its folder, and the folder is
// believed only as far as it can be checked:
//
//   - A process holds a lock on its file in run/ for as long as it lives, by an
//     open file it inherited (process.go). So whether it lives is a fact of the
//     system and not of a number in a file, and a recycled process ID is never
//     taken for ours.
//   - A process runs with a fingerprint of its command line, binary and
//     certificates. When what it should run with has changed, it is restarted.
//   - Certificates are made in a folder beside and moved into place whole. Where
//     they are missing, damaged or about to expire, new ones are made.
//   - Ports are kept from run to run, and replaced when somebody else took one.
//   - A store that etcd cannot open is moved aside, never deleted.
//
// Up therefore does only what is missing, from any state a crash can leave.
package plane
