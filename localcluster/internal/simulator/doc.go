// Package simulator plays the part of everything a cluster has and localcluster
// has not: nodes, the kubelet, the scheduler, a storage provisioner, a load
// balancer and an ingress controller. Without it no Deployment would ever be
// available and no Job complete.
//
// In come Pods, Services, Ingresses, PersistentVolumeClaims and
// PersistentVolumes from informers; out go the status that the missing parts
// would have written, and one PersistentVolume a claim. What to write is decided
// by pure functions (PodStatus, VolumeFor, ServiceStatus, IngressStatus); Run
// carries their answers out. No container runs, nothing listens on an address
// that is handed out, and there is no Node object.
//
// Wherever a user can meet the result it says "simulated": the reason of Pod
// conditions, container IDs, names of volumes' drivers and of load balancers.
package simulator
