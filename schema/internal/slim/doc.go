// Package slim reduces an OpenAPI v3 document of a Kubernetes API server to what a schema.Node is made of.
//
// Such a document is one to two megabytes of which three quarters are paths and most of the rest is prose; a controller reads several of them and
// keeps using two or three kinds of each. In goes the document; out go the kinds with their plural and scope, and the component schemas without
// descriptions, defaults, validation rules and patch strategies, each still JSON: a tenth of the size, decoded only when somebody asks. The same
// form, compressed, is what the binary carries for the built-in kinds.
//
// The reader is made for that one purpose: it walks the bytes once, without building a tree and without allocating for what is dropped.
package slim
