// Package revision takes care of GraphRevisions: it holds them with a finalizer and tells in their status whether they compile.
//
// In come GraphRevisions and news from the compiled programs; out go conditions (GraphVerified, summed up by Ready) and the order of the resources.
// A revision is compiled when its verdict has not been written yet, or when its program is in memory because the revision is in use; for a retired
// one whose verdict stands nothing is compiled, at startup neither.
package revision
