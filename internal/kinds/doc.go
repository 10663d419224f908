// Package kinds knows which kinds a live cluster serves and what they look like. It is the schema.Resolver of a running controller.
//
// Two sources answer, each where it is right first:
//
//   - Kinds of CustomResourceDefinitions come from the CRD itself. The OpenAPI documents and the discovery of a CRD follow it by seconds, and a
//     definition that was refused for want of a CRD should be accepted as soon as that is established. One watch on all CRDs keeps their names,
//     scope, versions and labels, not their schemas; a schema is fetched with its CRD when somebody asks, and kept while somebody uses it.
//   - Built-in and aggregated kinds come from /openapi/v3: the index, then one document for each group version that is used, fetched again only
//     when its hash in the index changes.
//
// Nothing polls. What is known is read again when somebody asks for a kind that is not known (rarely, however many ask), or asks after ten minutes.
//
// In come a rest.Config and questions: Resolve (what does this kind look like), Mapping (where is it served), CRD (what is known of this CRD). Out
// go answers, and Changes to those who subscribed: whoever could not be served because a kind was missing tries again when its CRD comes.
//
// A CRD that is established is served by its API server within some milliseconds, not at once, and in a cluster of several API servers by each in its
// own time. A request to a kind that Resolve or Mapping has just given may therefore be answered 404; it is to be retried.
package kinds
