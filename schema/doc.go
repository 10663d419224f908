// Package schema tells what Kubernetes objects look like: which fields a kind has, of which type, whether it is namespaced and what its plural is.
//
// In come OpenAPI documents of an API server (ParseDocument), CustomResourceDefinitions (FromCRD, FromFiles) and the snapshot of Kubernetes'
// built-in kinds that this binary carries (Embedded). Out go Kinds, each with a tree of Nodes. A Node keeps only what decides the type of a value;
// descriptions, defaults and validation rules are dropped, so that the schemas of a whole cluster fit in little memory.
//
// The package reads no clock, no network and no file on its own. internal/kinds resolves kinds from a live cluster with it.
package schema
