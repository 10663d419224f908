// Package objects brings YAML files onto a cluster and shows what became of
// them. In come files and a kubeconfig; out go server-side applies, and the tree
// of what a kro instance owns as text.
package objects
