// Package metrics holds every metric kro exposes beside those of controller-runtime, under the names that dashboards of kro already use.
//
// The other packages call small functions with typed arguments and never see Prometheus; label values are put together here and nowhere else.
// Everything registers itself in controller-runtime's registry, which the manager serves. Series that carry the name of something that can be
// deleted (a definition, a served kind, an instance) are dropped by the Forget functions when it is.
package metrics
