// Package crd brings the CRDs that definitions generate to the API server, and decides what may be changed in them.
//
// What comes in is the CRD that a definition asks for (graph.Instance.CRD). Dress puts kro's labels on it. Ensure reads the one of the cluster, refuses when it is
// somebody else's or when stored instances could become invalid or lose data, and otherwise writes it: once when something differs, not at all when nothing does.
//
// Compare is the judgement behind it, a pure function: it walks two CRDs as a whole and reports every difference, each as breaking or not. A change is breaking when
// an object that was stored under the old schema may be invalid under the new one, or lose fields. `kro diff` shows the same report before anything is applied.
package crd
